import { expect } from 'chai';
import { setImmediate as turn } from 'node:timers/promises';
import { spy } from 'sinon';

import { acquireAll, BackendError, KeyedMutex, KeyedSemaphore } from '../../../src/index.js';
import { ClosedError, Semaphore, useAll } from '../../../src/index.js';
import { reasonOf } from '../../support/rejection.js';
import { never, type StubBackend, watch } from '../stub-backend.js';
import {
  gaps,
  granting,
  heldFixture,
  later,
  PLAIN,
  pushing,
  stubFixture,
} from '../stub-fixture.js';

const LONG = { ttl: 30_000 };
const away = new Error('connect ECONNREFUSED');

describe('releasing', () => {
  it('rejects with the cause at once where the backend refuses, and is retried at most a second apart', async () => {
    const retry = { ...PLAIN, max: 60_000 };
    const { backend, clock, semaphore, handle } = await heldFixture({ ...LONG, retry });
    const released = spy();
    handle.on('released', released);
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(away);
    const releasing = watch(clock, handle.release());
    await clock.advance(0);
    expect(releasing.error).to.be.instanceOf(BackendError).with.property('cause', away);
    const closing = watch(clock, semaphore.close());
    await clock.advance(10_000);
    expect(closing.at).to.equal(0);
    const tries = backend.releases.map(({ at }) => at);
    expect(Math.max(...gaps(tries))).to.be.at.most(1000);
    expect(tries.length).to.be.within(10, 30);
    backend.onRelease = (call) => backend.released(call);
    await clock.advance(1000);
    const last = backend.releases.length;
    expect(last).to.be.above(tries.length);
    await clock.advance(60_000);
    expect([backend.releases.length, clock.timers]).to.deep.equal([last, 0]);
    expect(released.callCount).to.equal(1);
  });

  it('rejects after 5 s of failures while the lease runs, and is tried for a ttl and a call longer: the clock of the server may have been set back', async () => {
    const { backend, clock, handle } = await heldFixture(LONG);
    backend.onRelease = () => Promise.reject(away);
    const releasing = watch(clock, handle.release());
    await clock.advance(5000);
    expect(releasing.at).to.equal(5000);
    expect(releasing.error).to.be.instanceOf(BackendError).with.property('cause', away);
    await clock.advance(65_000);
    const longest = 30_000 * 0.99 - 2 + 30_000 + 5000;
    expect(backend.releases.at(-1)?.at).to.be.closeTo(longest, 300);
    expect(clock.timers).to.equal(0);
  });

  it('of a request is tried for as long as its lease may last, which a rate may make long [P4]', async () => {
    const { backend, clock, acquire } = stubFixture(LONG);
    const news = { askAgainAt: clock.wall() + 300_000, isTurn: true };
    backend.onAcquire = (call) => ({ ...backend.allQueued(call), ...news });
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(away);
    acquire(1000);
    await clock.advance(250_000);
    backend.onRelease = (call) => backend.released(call);
    await clock.advance(1000);
    expect(backend.releases.at(-1)?.call.ids).to.deep.equal(backend.ids);
    expect(backend.releases.at(-1)?.at).to.be.within(250_000, 251_000);
    expect(clock.timers).to.equal(0);
  });

  it('of a request is tried as long through another object of the semaphore: the lease is of the process', async () => {
    const { backend, clock, acquire } = stubFixture(LONG);
    const other = new Semaphore(backend, 'jobs', { ...LONG, limit: 10_000, retry: PLAIN });
    const nearest = { askAgainAt: backend.reply.serverTime + 300_000, isTurn: true };
    let first: string | undefined;
    backend.onAcquire = (call) => {
      const isFirst = call.requests[0]?.id === (first ??= call.requests[0]?.id);
      return { ...backend.allQueued(call), ...(!isFirst && nearest) };
    };
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(away);
    acquire(1000);
    await clock.advance(0);
    const waiting = watch(clock, other.acquire());
    await clock.advance(250_000);
    expect(backend.releases.at(-1)).to.have.nested.property('call.ids[0]', first);
    expect(backend.releases.at(-1)?.at).to.be.above(249_000);
    await clock.advance(100_000);
    expect(backend.releases.at(-1)?.at).to.be.closeTo(335_000, 1000);
    await other.close();
    expect(waiting.error).to.be.instanceOf(ClosedError);
  });

  it('of a permit is tried no longer because another request waits for a turn [P7]', async () => {
    const { backend, clock, acquire, handle } = await heldFixture(LONG);
    const nearest = { askAgainAt: backend.reply.serverTime + 900_000, isTurn: true };
    backend.onAcquire = (call) => ({ ...backend.allQueued(call), ...nearest });
    acquire(100);
    await clock.advance(1000);
    backend.onRelease = () => Promise.reject(away);
    const releasing = watch(clock, handle.release());
    await clock.advance(300_000);
    expect(releasing.error).to.be.instanceOf(BackendError);
    expect(backend.releases.at(-1)?.at).to.be.below(70_000);
    expect(clock.timers).to.equal(0);
  });

  it('that fails is tried no longer on a clock that has not come to 0 yet', async () => {
    const { backend, clock, acquire } = stubFixture(LONG);
    const own = clock.monotonic.bind(clock);
    clock.monotonic = () => own() - 1e9;
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(away);
    acquire(1000);
    await clock.advance(60_000);
    expect(backend.releases.at(-1)?.at).to.be.closeTo(36_000 - 1e9, 1000);
    expect(clock.timers).to.equal(0);
  });

  it('is true when a withdrawal of the same id overtakes it, which a late grant causes', async () => {
    const { backend, clock, acquire } = stubFixture(LONG, pushing());
    const [asked, overtaken] = [later<void>(), later<void>()];
    const granted = { kind: 'granted', fencingToken: 7, slots: [0] } as const;
    backend.onAcquire = async (call, index) => {
      if (index === 0) return backend.allQueued(call);
      await asked.promise;
      return backend.verdicts(call, () => granted);
    };
    // The first call reaches the server behind the second.
    backend.onRelease = async (call, index) => {
      if (index === 0) await overtaken.promise;
      return backend.released(call, index > 0);
    };
    await backend.setHealth(true);
    const waiting = acquire();
    await clock.advance(3000);
    const [id = ''] = backend.ids;
    await backend.push(id, undefined, 7);
    await clock.advance(0);
    const releasing = watch(clock, waiting.value?.release() ?? never());
    await clock.advance(0);
    asked.resolve();
    await clock.advance(10);
    overtaken.resolve();
    await clock.advance(60_000);
    expect(backend.acquires.length).to.equal(2);
    expect(backend.releases.map(({ call }) => call.ids)).to.deep.equal([[id], [id]]);
    expect([releasing.value, clock.timers]).to.deep.equal([true, 0]);
  });

  it('is false when a refusal comes after the lease, before any timer ran', async () => {
    const { backend, clock, handle } = await heldFixture();
    const gate = later<never>();
    backend.isRetryable = () => false;
    backend.onRelease = () => gate.promise;
    const releasing = handle.release();
    await clock.advance(0);
    clock.stall(3000);
    gate.reject(away);
    expect(await releasing).to.equal(false);
  });

  it('of many unwanted requests takes one call per pause; when the backend is back, the first 100 000 go', async () => {
    const { clock, backend, semaphore } = stubFixture(LONG);
    const abort = new AbortController();
    const { signal } = abort;
    for (let i = 0; i < 100_500; i++) semaphore.acquire({ signal }).catch(() => undefined);
    backend.onRelease = () => Promise.reject(away);
    await clock.advance(0);
    abort.abort();
    await clock.advance(1000);
    expect(clock.timers).to.equal(1);
    backend.releases.splice(0);
    await clock.advance(2000);
    // A call for each pause of 200 ms.
    const sizes = backend.releases.map(({ call }) => call.ids.length);
    expect(sizes).to.deep.equal(Array(10).fill(1000));
    backend.releases.splice(0);
    backend.onRelease = (call) => backend.released(call);
    await clock.advance(200);
    const [asked, sent] = [backend.ids, new Set(backend.givenBack)];
    expect([backend.givenBack.length, sent.size]).to.deep.equal([100_000, 100_000]);
    expect(asked.findIndex((id) => !sent.has(id))).to.equal(100_000);
    // The close does not wait for requests that are left to expire.
    const closing = watch(clock, semaphore.close());
    await clock.advance(0);
    expect([closing.done, clock.timers]).to.deep.equal([true, 0]);
  });

  it('keeps the process alive, as a request and close() do; holding and withdrawing do not', async () => {
    const { backend, clock, semaphore, handle, acquire } = await heldFixture();
    const schedule = spy(clock, 'schedule');
    /** The delays of the timers that were set since the last look and keep the process alive. */
    const alive = (): unknown[] => {
      const delays = schedule.args.filter((args: readonly unknown[]) => args[2] === true);
      schedule.resetHistory();
      return delays.map(([, delay]) => delay);
    };
    await clock.advance(5000);
    expect(schedule.callCount).to.be.at.least(4);
    expect(alive()).to.deep.equal([]);
    backend.onRelease = () => Promise.reject(away);
    backend.onAcquire = (call) => backend.allQueued(call);
    const abort = new AbortController();
    acquire({ signal: abort.signal });
    await clock.advance(1);
    expect(alive()).to.include(10);
    abort.abort();
    alive();
    await clock.advance(1000);
    expect(schedule.callCount).to.be.above(1);
    expect(alive()).to.deep.equal([]);
    for (const end of [() => handle.release(), () => semaphore.close()]) {
      watch<unknown>(clock, end());
      await clock.advance(0);
      expect(alive()).not.to.deep.equal([]);
    }
  });
});

describe('closing a semaphore', () => {
  it('ends after 5 s at most when the backend is silent, its subscription at once', async () => {
    const fixture = await heldFixture(LONG, pushing());
    const { backend, clock, semaphore, asked, handle, losses } = fixture;
    backend.onAcquire = (call) => backend.allQueued(call);
    backend.onRelease = () => never();
    const waiting = await asked();
    await backend.setHealth(true);
    const closing = watch(clock, semaphore.close());
    await clock.advance(0);
    expect(backend.closedListeners).to.equal(1);
    expect([handle.held, losses[0]?.[1].reason]).to.deep.equal([false, 'closed']);
    expect(waiting.error).to.have.property('code', 'CLOSED');
    await clock.advance(10_000);
    expect([closing.at, closing.error]).to.deep.equal([5000, undefined]);
  });

  it('ends with a late reply to its last release', async () => {
    const { backend, clock, semaphore, handle } = await heldFixture(LONG);
    const gate = later<void>();
    backend.onRelease = (call) => gate.promise.then(() => backend.released(call));
    watch(clock, handle.release());
    await clock.advance(4990);
    const closing = watch(clock, semaphore.close());
    // The call has failed, and the release waits for another try.
    await clock.advance(11);
    gate.resolve();
    await clock.advance(10_000);
    expect([closing.at, backend.releases.length, clock.timers]).to.deep.equal([5001, 1, 0]);
  });

  it('ends after the replies to its acquires and extensions, and gives back what they granted: through a pool, releases may be answered first [P4]', async () => {
    const { backend, clock, semaphore, handle } = await heldFixture();
    const late = later<void>();
    backend.onExtend = (call) => late.promise.then(() => backend.extended(call));
    backend.onAcquire = (call) => late.promise.then(() => backend.allGranted(call));
    const calls = [watch(clock, handle.extend()), watch(clock, semaphore.acquire())];
    await clock.advance(0);
    const closing = watch(clock, semaphore.close());
    await clock.advance(100);
    expect([...calls, closing].map(({ done }) => done)).to.deep.equal([true, true, false]);
    late.resolve();
    await clock.advance(0);
    expect(closing.at).to.equal(100);
    expect(backend.givenBack.toSorted()).to.deep.equal([...backend.ids, ...backend.ids].toSorted());
    expect(clock.timers).to.equal(0);
  });

  it('sets no timer while nothing is under way', async () => {
    const { clock, semaphore, handle } = await heldFixture();
    await handle.release();
    const schedule = spy(clock, 'schedule');
    await semaphore.close();
    expect(schedule.callCount).to.equal(0);
  });

  it('leaves nothing to send: a release of its handles after it is false, and makes no call [P8]', async () => {
    const { backend, clock, semaphore, handle } = await heldFixture();
    await semaphore.close();
    expect(backend.givenBack).to.deep.equal([handle.id]);
    // The client is closed by now.
    backend.onRelease = () => Promise.reject(away);
    expect(await handle.release()).to.equal(false);
    await clock.advance(0);
    expect([backend.givenBack, clock.timers]).to.deep.equal([[handle.id], 0]);
  });

  it('with drain renews permits until its time is over, the last permit is lost, or a close without drain comes', async () => {
    const { backend, clock, semaphore, handle, losses } = await heldFixture();
    const closing = watch(clock, semaphore.close({ drain: 5500 }));
    await clock.advance(5499);
    expect([handle.held, backend.extends.length, backend.releases]).to.deep.equal([true, 5, []]);
    await clock.advance(1);
    expect(losses.map(([at, { reason }]) => [at, reason])).to.deep.equal([[5500, 'closed']]);
    expect([closing.at, backend.givenBack, clock.timers]).to.deep.equal([5500, [handle.id], 0]);
    const lost = await heldFixture();
    lost.backend.onExtend = (call) => lost.backend.extended(call, false);
    const draining = watch(lost.clock, lost.semaphore.close({ drain: 60_000 }));
    await lost.clock.advance(1000);
    expect([draining.at, lost.handle.held, lost.clock.timers]).to.deep.equal([1000, false, 0]);
    await stubFixture().semaphore.close({ drain: 60_000 });
    const other = await heldFixture();
    const closings = [60_000, 1000].map((drain) => other.semaphore.close({ drain }));
    await other.clock.advance(0);
    expect(other.handle.held).to.equal(true);
    await Promise.all([other.semaphore.close(), ...closings]);
    expect([other.handle.held, other.clock.monotonic(), other.clock.timers]).to.eql([false, 0, 0]);
  });
});

describe('a release that fails behind a result', () => {
  /** A backend that grants, and refuses the releases of these semaphores. */
  function refusing(...names: readonly string[]): StubBackend {
    const backend = granting();
    backend.isRetryable = () => false;
    backend.onRelease = (call) => {
      if (names.includes(call.key.name)) throw away;
      return backend.released(call);
    };
    return backend;
  }

  /** The names of these objects, once for each warning that they give. */
  function warnedOf(...sources: (Semaphore | KeyedMutex | KeyedSemaphore)[]): string[] {
    const warned: string[] = [];
    for (const each of sources) {
      each.on('warning', ({ code, message, cause }) => {
        expect(message).to.match(/^a (permit|key) of .* is not given back yet: .*ECONNREFUSED/);
        expect(cause).to.be.instanceOf(BackendError).with.property('cause', away);
        warned.push(`${each.name} ${code}`);
      });
    }
    return warned;
  }

  const full = Object.assign(new Error('job', { cause: 1 }), { suppressed: 2 });
  for (const [what, thrown, place] of [
    ['the cause of an error without one', new Error('job'), 'cause'],
    ['suppressed by an error with a cause', new Error('job', { cause: 'why' }), 'suppressed'],
    ['a warning beside an error that has both', full, undefined],
    ['a warning beside a frozen error', Object.freeze(new Error('job')), undefined],
    ['a warning beside a string', 'job', undefined],
  ] as readonly [string, unknown, string | undefined][]) {
    it(`is ${what}, and hides nothing`, async () => {
      const jobs = new Semaphore(refusing('jobs'), 'jobs', { limit: 2 });
      const warned = warnedOf(jobs);
      expect(await reasonOf(jobs.use(() => Promise.reject(thrown)))).to.equal(thrown);
      if (place !== undefined) {
        expect(thrown).to.have.property(place).that.is.instanceOf(BackendError);
        expect(Object.keys(thrown as Error), 'as a constructor sets it').to.deep.equal([]);
      }
      await turn();
      expect(warned).to.have.length(place === undefined ? 1 : 0);
    });
  }

  it('is no loss while the function ran where the lease runs out before an answer; a stall before the release is [P6]', async () => {
    for (const [stall, warned] of [
      [0, []],
      [1000, ['LOST_UNNOTICED (expired)']],
    ] as const) {
      const { backend, clock, semaphore } = stubFixture({ ttl: 1000 }, granting());
      const heard: string[] = [];
      semaphore.on('warning', ({ code, message }) => {
        heard.push(`${code} ${/lost (\(\w+\))/.exec(message)?.[1]}`);
      });
      backend.onRelease = () => never();
      const using = watch(
        clock,
        semaphore.use(() => clock.stall(stall)),
      );
      await clock.advance(1000);
      expect(using.done).to.equal(true);
      expect(heard).to.deep.equal(warned);
    }
  });

  it('is no loss while the function ran where the machine was suspended before the answer', async () => {
    const { backend, clock, semaphore } = stubFixture({ ttl: 1000 }, granting());
    const heard: string[] = [];
    semaphore.on('warning', ({ code }) => heard.push(code));
    backend.onRelease = (call) => {
      clock.stepWall(60_000);
      return { ...backend.reply, released: call.ids.map(() => false) };
    };
    await semaphore.use(() => undefined);
    await clock.advance(0);
    expect(heard).to.deep.equal([]);
  });

  it('of a permit among several is a warning of its semaphore, or of the owner of its keys', async () => {
    const backend = refusing('mails', 'keyed:keys:bob', 'keyed:tenants:a');
    const jobs = new Semaphore(backend, 'jobs', { limit: 2 });
    const mails = new Semaphore(backend, 'mails', { limit: 2 });
    const keys = new KeyedMutex(backend, { name: 'keys' });
    const tenants = new KeyedSemaphore(backend, { name: 'tenants', limit: 1 });
    const warned = warnedOf(jobs, mails, keys, tenants);
    expect(await useAll([jobs, mails], () => 7)).to.equal(7);
    await (await acquireAll([jobs, mails]))[Symbol.asyncDispose]();
    expect(await keys.use(['alice', 'bob'], () => 7)).to.equal(7);
    expect(await tenants.use('a', () => 7)).to.equal(7);
    await turn();
    const owners = ['mails', 'mails', 'keys', 'tenants'];
    expect(warned).to.deep.equal(owners.map((owner) => `${owner} RELEASE_FAILED`));
  });
});
