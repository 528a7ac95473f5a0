import { expect } from 'chai';

import type { ReleaseReply } from '../../src/backend.js';
import { BackendError } from '../../src/errors.js';
import type { SemaphoreOptions } from '../../src/options.js';
import { Semaphore } from '../../src/semaphore.js';
import { never, StubBackend, watch } from './stub-backend.js';

const PLAIN = { min: 10, max: 200, factor: 2, jitter: false };

describe('releasing', () => {
  async function held(options: Partial<SemaphoreOptions> = {}) {
    const backend = new StubBackend();
    const { clock } = backend;
    backend.onAcquire = (call) => backend.allGranted(call);
    const given = { limit: 10_000, ttl: 30_000, retry: PLAIN, ...options };
    const semaphore = new Semaphore(backend, 'jobs', given);
    const handle = await semaphore.acquire();
    return { backend, clock, semaphore, handle };
  }

  it('tells whether the ticket was still there, and is one call', async () => {
    for (const there of [true, false]) {
      const { backend, handle } = await held();
      backend.onRelease = (call) => backend.released(call, there);
      expect(await handle.release()).to.equal(there);
      expect(backend.givenBack).to.deep.equal([handle.id]);
    }
  });

  it('is the same however often it is asked for', async () => {
    const { backend, handle } = await held();
    const first = handle.release();
    expect(handle.release()).to.equal(first);
    expect(await handle.release()).to.equal(true);
    await handle[Symbol.asyncDispose]();
    expect(backend.releases).to.have.length(1);
  });

  it('takes effect at once: held, signal, timers', async () => {
    const { backend, clock, handle } = await held();
    backend.onRelease = () => never();
    const { signal } = handle;
    watch(clock, handle.release());
    expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
    expect(() => handle.assertHeld()).to.throw(/its semaphore was closed|released|lost/);
    await clock.advance(60_000);
    expect(signal.aborted).to.equal(false);
    expect(backend.extends).to.deep.equal([]);
  });

  it('of many at one moment travels together', async () => {
    const { backend, semaphore } = await held();
    const handles = await Promise.all(Array.from({ length: 100 }, () => semaphore.acquire()));
    await Promise.all(handles.map((handle) => handle.release()));
    expect(backend.releases).to.have.length(1);
  });

  it('tells with an event when it has ended, once', async () => {
    const { handle } = await held();
    let told = 0;
    handle.on('released', () => (told += 1));
    await handle.release();
    await handle.release();
    expect(told).to.equal(1);
  });

  it('tells with an event when it has ended, also of a handle that was lost before', async () => {
    const { backend, clock, handle } = await held();
    backend.onExtend = () => Promise.reject(new Error('read ECONNRESET'));
    let told = 0;
    handle.on('released', () => (told += 1));
    await clock.advance(30_000);
    expect([handle.held, told]).to.deep.equal([false, 0]);
    expect(await handle.release()).to.equal(false);
    expect(told).to.equal(1);
  });

  it('is one release where who is told that it has ended releases once more', async () => {
    const { backend, clock, handle } = await held();
    const again: Promise<boolean>[] = [];
    handle.on('released', () => again.push(handle.release()));
    clock.stall(30_000);
    const releasing = handle.release();
    expect(await releasing).to.equal(false);
    expect(again).to.deep.equal([releasing]);
    await clock.advance(0);
    expect(backend.givenBack).to.deep.equal([handle.id]);
  });

  describe('when the backend fails', () => {
    it('is tried again, with the same id, until it is confirmed', async () => {
      const { backend, clock, handle } = await held();
      backend.onRelease = (call, index) => {
        if (index < 4) throw new Error('read ECONNRESET');
        return backend.released(call);
      };
      const releasing = watch(clock, handle.release());
      await clock.advance(200);
      expect(releasing.value).to.equal(true);
      expect(backend.releases.map(({ at }) => at)).to.deep.equal([0, 10, 30, 70, 150]);
      expect(new Set(backend.givenBack)).to.deep.equal(new Set([handle.id]));
    });

    it('that refuses is told of with its cause at once, and tried again until the lease is over', async () => {
      const { backend, clock, semaphore, handle } = await held();
      const cause = new Error('NOPERM no permissions');
      backend.isRetryable = () => false;
      backend.onRelease = () => Promise.reject(cause);
      const releasing = watch(clock, handle.release());
      await clock.advance(0);
      expect(releasing.error).to.be.instanceOf(BackendError);
      expect(releasing.error).to.include({ cause });
      const closing = watch(clock, semaphore.close());
      await clock.advance(0);
      expect(closing.done).to.equal(true);
      await clock.advance(60_000);
      const tries = backend.releases.map(({ at }) => at);
      const pauses = tries.slice(1).map((at, i) => at - (tries[i] ?? 0));
      expect(Math.max(...pauses)).to.be.at.most(1000);
      expect(tries.length).to.be.within(30, 70);
      expect(tries.at(-1)).to.be.within(28_000, 30_000);
      expect(clock.timers).to.equal(0);
    });

    it('that refuses for a while gives the permit back soon after', async () => {
      const { backend, clock, handle } = await held();
      backend.isRetryable = () => false;
      backend.onRelease = (call) => {
        if (clock.monotonic() < 10_000) throw new Error('MISCONF no more writes');
        return backend.released(call);
      };
      watch(clock, handle.release());
      await clock.advance(11_000);
      const tries = backend.releases.length;
      expect(backend.releases.at(-1)?.at).to.be.within(10_000, 11_000);
      await clock.advance(60_000);
      expect(backend.releases).to.have.length(tries);
    });

    it('is told after 5 s while the lease runs, and is tried on behind it', async () => {
      const { backend, clock, handle } = await held();
      const cause = new Error('connect ECONNREFUSED');
      backend.onRelease = () => Promise.reject(cause);
      const releasing = watch(clock, handle.release());
      await clock.advance(4999);
      expect(releasing.done).to.equal(false);
      await clock.advance(1);
      expect(releasing.at).to.equal(5000);
      expect(releasing.error).to.be.instanceOf(BackendError);
      expect(releasing.error).to.include({ cause });
      const before = backend.releases.length;
      backend.onRelease = (call) => backend.released(call);
      await clock.advance(500);
      expect(backend.releases.length).to.be.above(before);
      await clock.advance(60_000);
      expect(clock.timers).to.equal(0);
    });

    it('ends with false when the lease is over meanwhile', async () => {
      const { backend, clock, handle } = await held({ ttl: 1000 });
      backend.onRelease = () => Promise.reject(new Error('connect ECONNREFUSED'));
      const releasing = watch(clock, handle.release());
      await clock.advance(1000);
      expect(releasing.value).to.equal(false);
      expect(releasing.at).to.be.within(950, 1000);
    });

    it('is not tried for longer than the ticket can live', async () => {
      const { backend, clock, handle } = await held({ ttl: 1000 });
      backend.onRelease = () => Promise.reject(new Error('connect ECONNREFUSED'));
      watch(clock, handle.release());
      await clock.advance(3000);
      const before = backend.releases.length;
      await clock.advance(60_000);
      expect(backend.releases).to.have.length(before);
      expect(clock.timers).to.equal(0);
    });
  });

  describe('when the backend is silent', () => {
    it('is tried again, and a late reply counts', async () => {
      const { backend, clock, handle } = await held();
      let answer: (reply: ReleaseReply) => void = () => {};
      backend.onRelease = () => new Promise((resolve) => (answer = resolve));
      const releasing = watch(clock, handle.release());
      await clock.advance(3000);
      const call = backend.releases[0]?.call;
      if (call !== undefined) answer(backend.released(call));
      await clock.advance(0);
      expect([releasing.value, releasing.at]).to.deep.equal([true, 3000]);
    });

    it('is told after 5 s at the latest', async () => {
      const { backend, clock, handle } = await held();
      backend.onRelease = () => never();
      const releasing = watch(clock, handle.release());
      await clock.advance(5000);
      expect(releasing.error).to.be.instanceOf(BackendError);
      expect(releasing.at).to.equal(5000);
    });

    it('does not keep the release of others back for ever', async () => {
      const { backend, clock, semaphore, handle } = await held();
      const other = await semaphore.acquire();
      backend.onRelease = (call, index) => (index === 0 ? never() : backend.released(call));
      watch(clock, handle.release());
      await clock.advance(10);
      const releasing = watch(clock, other.release());
      await clock.advance(5000);
      expect(releasing.value).to.equal(true);
    });
  });

  describe('after the loss', () => {
    it('is false and takes no time', async () => {
      const { backend, clock, handle } = await held({ ttl: 1000 });
      backend.onExtend = () => never();
      await clock.advance(1000);
      expect(handle.held).to.equal(false);
      expect(await handle.release()).to.equal(false);
    });

    it('that nobody noticed yet is false, too, and never throws', async () => {
      const { backend, clock, handle } = await held({ ttl: 1000 });
      backend.onRelease = () => Promise.reject(new Error('connect ECONNREFUSED'));
      clock.stall(1000);
      expect(await handle.release()).to.equal(false);
      let lost = 0;
      handle.on('lost', () => (lost += 1));
      await clock.advance(10_000);
      expect(lost).to.equal(0);
      expect(backend.givenBack).to.include(handle.id);
    });
  });

  describe('by use', () => {
    it('gives what the function gives, and releases', async () => {
      const { backend, semaphore } = await held();
      expect(await semaphore.use(() => 'result')).to.equal('result');
      expect(await semaphore.use(async ({ slot }) => slot)).to.equal(0);
      expect(backend.releases).to.have.length(2);
    });

    it("never hides the function's error, whatever the release does", async () => {
      const { backend, clock, semaphore } = await held();
      backend.onRelease = () => Promise.reject(new Error('NOPERM'));
      backend.isRetryable = () => false;
      const own = new Error('own');
      for (const failing of [() => Promise.reject(own), () => thrower(own)]) {
        const using = watch(clock, semaphore.use(failing));
        await clock.advance(0);
        expect(using.error).to.equal(own);
      }
    });

    it('gives the result although the release failed', async () => {
      const { backend, clock, semaphore } = await held();
      backend.onRelease = () => Promise.reject(new Error('NOPERM'));
      backend.isRetryable = () => false;
      const using = watch(
        clock,
        semaphore.use(() => 7),
      );
      await clock.advance(0);
      expect(using.value).to.equal(7);
    });

    it('does not call the function when there is no permit', async () => {
      const { backend, clock, semaphore } = await held();
      backend.onAcquire = (call) => backend.allQueued(call);
      let called = false;
      const using = watch(
        clock,
        semaphore.use(() => (called = true), 100),
      );
      await clock.advance(100);
      expect(using.error).to.be.an('error').with.property('code', 'ACQUIRE_TIMEOUT');
      expect(called).to.equal(false);
    });
  });

  describe('by close', () => {
    it('tells each handle that it is lost, gives all back, and can be repeated', async () => {
      const { backend, clock, semaphore, handle } = await held();
      const other = await semaphore.acquire();
      const reasons: string[] = [];
      for (const each of [handle, other]) each.on('lost', ({ reason }) => reasons.push(reason));
      const closing = semaphore.close();
      expect(semaphore.close()).to.equal(closing);
      await closing;
      await semaphore[Symbol.asyncDispose]();
      expect(reasons).to.deep.equal(['closed', 'closed']);
      expect(backend.givenBack).to.have.members([handle.id, other.id]);
      expect([handle.held, await handle.release()]).to.deep.equal([false, false]);
      expect(clock.timers).to.equal(0);
    });

    it('ends after 5 s when the backend is silent, and never rejects', async () => {
      const { backend, clock, semaphore } = await held();
      backend.onRelease = () => never();
      const closing = watch(clock, semaphore.close());
      await clock.advance(5000);
      expect([closing.done, closing.error]).to.deep.equal([true, undefined]);
    });

    it('ends the subscription at once, so that on a silent backend it takes no longer', async () => {
      const backend = new StubBackend({ pushes: true });
      backend.onAcquire = (call, index) =>
        index === 0 ? backend.allGranted(call) : backend.allQueued(call);
      backend.onRelease = () => never();
      const semaphore = new Semaphore(backend, 'jobs', { limit: 1, clock: backend.clock });
      await semaphore.acquire();
      const waiting = watch(backend.clock, semaphore.acquire());
      await backend.clock.advance(0);
      backend.listeners[0]?.onHealth(true);
      expect(backend.closedListeners).to.equal(0);
      void semaphore.close();
      await backend.clock.advance(0);
      expect(backend.closedListeners).to.equal(1);
      await backend.clock.advance(5000);
      expect(waiting.error).to.have.property('code', 'CLOSED');
    });

    it('refuses what comes afterwards', async () => {
      const { clock, semaphore } = await held();
      await semaphore.close();
      const calls: Promise<unknown>[] = [
        semaphore.acquire(),
        semaphore.tryAcquire(),
        semaphore.use(() => 1),
        semaphore.inspect(),
      ];
      const refused = calls.map((call) => watch(clock, call));
      await clock.advance(0);
      for (const { error } of refused)
        expect(error).to.be.an('error').with.property('code', 'CLOSED');
    });

    it('leaves other semaphore objects on the same name alone', async () => {
      const { backend, clock, semaphore } = await held();
      const options = { limit: 10_000, ttl: 30_000, retry: PLAIN };
      const other = new Semaphore(backend, 'jobs', options);
      const theirs = await other.acquire();
      backend.onAcquire = (call) => backend.allQueued(call);
      const waiting = watch(clock, other.acquire());
      await clock.advance(10);
      await semaphore.close();
      await clock.advance(20_000);
      expect([theirs.held, waiting.done]).to.deep.equal([true, false]);
      expect(backend.extends.length).to.be.above(0);
      await other.close();
    });
  });

  function thrower(error: Error): never {
    throw error;
  }
});
