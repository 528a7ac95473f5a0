import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { BackendError, Semaphore } from '../../../src/index.js';
import { never, StubBackend, watch } from '../stub-backend.js';
import { later, listeningFixture, PLAIN } from '../stub-fixture.js';

const OPTIONS = { limit: 5, ttl: 3000, retry: PLAIN };

const damaged = new Error('WRONGTYPE');

/** A damaged semaphore is an error that stays. */
function granting(): StubBackend {
  const backend = new StubBackend();
  backend.isRetryable = (error) => error !== damaged;
  backend.onAcquire = (call) => backend.allGranted(call);
  return backend;
}

function semaphores(backend: StubBackend, count: number): Semaphore[] {
  return Array.from({ length: count }, (_, i) => new Semaphore(backend, `s${i}`, OPTIONS));
}

describe('a batcher', () => {
  it('sends at most 100 ids a call, 1000 of one semaphore alone, and two calls at once; the rest follows them', async () => {
    const backend = new StubBackend();
    const gate = later<void>();
    backend.onAcquire = (call) => gate.promise.then(() => backend.allGranted(call));
    const one = new Semaphore(backend, 's', OPTIONS);
    const asking = Array.from({ length: 2500 }, () => one.acquire());
    asking.push(...semaphores(backend, 250).map((each) => each.acquire()));
    await backend.clock.advance(0);
    const sizes = () => backend.acquires.map(({ call }) => call.requests.length);
    const hundred = Array.from({ length: 100 }, () => 1);
    expect([sizes(), backend.portCalls.acquire]).to.deep.equal([[1000, ...hundred], 2]);
    gate.resolve();
    const handles = await Promise.all(asking);
    const rest = sizes().slice(101);
    expect(rest.filter((size) => size > 1)).to.deep.equal([1000, 500]);
    expect(rest.filter((size) => size === 1)).to.have.length(150);
    expect(backend.portCalls.acquire).to.equal(3 + 3);
    for (const handle of handles) void handle.release();
    await backend.clock.advance(0);
  });

  it('serves a semaphore of few beside one of which more always gather', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.verdicts(call, () => ({ kind: 'busy' }));
    const [busy, quiet] = semaphores(backend, 2);
    const tryOn = async () => {
      while (backend.acquires.length < 20) await busy?.tryAcquire();
    };
    const callers = Array.from({ length: 4000 }, tryOn);
    await Promise.all([quiet?.tryAcquire(), ...callers]);
    expect(backend.acquires.findIndex(({ call }) => call.key.name === 's1')).to.equal(1);
  });

  it('renews at most 500 tickets a call, of at most 100 semaphores', async () => {
    const backend = granting();
    const all = semaphores(backend, 250);
    const several = all.slice(0, 100).flatMap((one) => Array.from({ length: 4 }, () => one));
    const handles = await Promise.all([...several, ...all].map((one) => one.acquire()));
    const before = backend.portCalls.extend;
    await Promise.all(handles.map((handle) => handle.extend()));
    const renewed = backend.extends.flatMap(({ call }) => call.ids);
    expect([renewed.length, new Set(renewed).size]).to.deep.equal([650, 650]);
    // 100 semaphores of 5 tickets, as many of one, and 50 of one.
    expect(backend.portCalls.extend - before).to.equal(3);
    await Promise.all(handles.map((handle) => handle.release()));
  });

  it('names a semaphore once in a call, also when claims of its leases alternate with renewals', async () => {
    const { backend, clock, acquire, waiting, id } = await listeningFixture();
    backend.push(id);
    const pushed = (place: number) => place % 2 === 0;
    backend.onAcquire = (call, index) =>
      pushed(index) ? backend.allQueued(call) : backend.allGranted(call);
    const asking = [waiting];
    for (let i = 0; i < 400; i += 1) {
      const next = backend.acquires.length;
      asking.push(acquire());
      await clock.advance(0);
      if (pushed(next)) backend.push(backend.ids.at(-1) ?? '');
    }
    await clock.advance(0);
    const handles = asking.flatMap(({ value }) => value ?? []);
    await Promise.all(handles.map((handle) => handle.extend()));
    const sizes = backend.extends.map(({ call }) => call.ids.length);
    expect(sizes).to.have.members([200, 201]);
    expect(backend.portCalls.extend).to.equal(2);
    await Promise.all(handles.map((handle) => handle.release()));
  });

  it('counts a request that waits already for two: it costs the server as much', async () => {
    const backend = new StubBackend();
    const asking = semaphores(backend, 120).map((one) => one.acquire({ timeout: 50 }));
    await backend.clock.advance(0);
    expect(backend.portCalls.acquire).to.equal(2);
    backend.onAcquire = (call) => backend.allGranted(call);
    const handles = Promise.all(asking);
    await backend.clock.advance(10);
    expect([backend.acquires.length, backend.portCalls.acquire]).to.deep.equal([240, 2 + 3]);
    await Promise.all((await handles).map((handle) => handle.release()));
  });

  it('sends a lone call in the turn in which it is made', () => {
    const backend = new StubBackend();
    const [one] = semaphores(backend, 1);
    void one?.acquire(10).catch(() => undefined);
    return new Promise<void>((resolve) => {
      process.nextTick(() => {
        expect(backend.portCalls.acquire).to.equal(1);
        resolve(backend.clock.advance(20));
      });
    });
  });

  it('is not held up by fake ticks that never come', async () => {
    const backend = granting();
    const [one] = semaphores(backend, 1);
    const fake = useFakeTimers({ toFake: ['nextTick'] });
    const first = one?.acquire(10);
    fake.restore();
    for (const handle of await Promise.all([first, one?.acquire(10)])) await handle?.release();
    expect(backend.portCalls).to.include({ acquire: 1, release: 2 });
  });

  it('is free again when a call is silent for its time, for other semaphores, too', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => (call.key.name === 's2' ? backend.allGranted(call) : never());
    const asking = [];
    for (const one of semaphores(backend, 3)) {
      asking.push(watch(backend.clock, one.acquire(4000)));
      await backend.clock.advance(0);
    }
    await backend.clock.advance(2999);
    expect(asking[2]?.done).to.equal(false);
    await backend.clock.advance(1);
    expect(asking[2]?.value).to.include({ held: true });
    await asking[2]?.value?.release();
    await backend.clock.advance(20_000);
  });

  it('keeps a damaged semaphore apart also when each request makes an object for it', async () => {
    const backend = granting();
    backend.onAcquire = (call) =>
      call.key.name === 's2' ? Promise.reject(damaged) : backend.allGranted(call);
    const round = async () => {
      const before = backend.portCalls.acquire;
      const outcomes = await Promise.allSettled(semaphores(backend, 3).map((one) => one.acquire()));
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') await outcome.value.release();
      }
      return backend.portCalls.acquire - before;
    };
    expect([await round(), await round(), await round()]).to.deep.equal([4, 2, 2]);
    backend.clock.stall(5000);
    expect([await round(), await round()]).to.deep.equal([4, 2]);
  });

  it('leaves the room of a damaged semaphore to its neighbours', async () => {
    const backend = granting();
    backend.onAcquire = (call) =>
      call.key.name === 's1' ? Promise.reject(damaged) : backend.allGranted(call);
    const all = semaphores(backend, 201);
    const round = (several: Semaphore[]) => Promise.allSettled(several.map((one) => one.acquire()));
    await round(all.slice(0, 2));
    const [before, gate] = [backend.acquires.length, later<void>()];
    const answer = backend.onAcquire;
    backend.onAcquire = (call, index) => gate.promise.then(() => answer(call, index));
    const moreOfIt = Array.from({ length: 99 }, () => all.slice(1, 2)).flat();
    const outcomes = round([...all, ...moreOfIt]);
    await backend.clock.advance(0);
    const names = backend.acquires.slice(before).map(({ call }) => call.key.name);
    expect(names).to.have.members(all.map(({ name }) => name));
    gate.resolve();
    await backend.clock.advance(0);
    for (const outcome of await outcomes) {
      if (outcome.status === 'fulfilled') await outcome.value.release();
    }
  });

  it('has given back what a shared call gave back before it failed for another semaphore', async () => {
    const backend = granting();
    const held = await Promise.all(semaphores(backend, 2).map((one) => one.acquire()));
    const gone = new Set<string>();
    backend.onRelease = (call) => {
      if (call.key.name === 's1') return Promise.reject(damaged);
      const reply = backend.released(call, !gone.has(call.key.name));
      gone.add(call.key.name);
      return reply;
    };
    const [healthy, refused] = held.map((handle) => watch(backend.clock, handle.release()));
    await backend.clock.advance(0);
    expect(backend.releases.map(({ call }) => call.key.name).join()).to.equal('s0,s1,s0,s1');
    expect(healthy?.value).to.equal(true);
    expect(refused?.error).to.be.instanceOf(BackendError).with.property('cause', damaged);
    await backend.clock.advance(10_000);
  });

  it('sends what was given up meanwhile not again, and withdraws it once more: the call that failed may have run last', async () => {
    const backend = granting();
    const gate = later<void>();
    backend.onAcquire = async (call) => {
      await gate.promise;
      if (call.key.name === 's1') throw damaged;
      return backend.allGranted(call);
    };
    const abort = new AbortController();
    const [given, refused] = semaphores(backend, 2).map((one) =>
      watch(backend.clock, one.acquire({ signal: abort.signal })),
    );
    await backend.clock.advance(0);
    const [id = ''] = backend.ids;
    abort.abort('enough');
    await backend.clock.advance(0);
    expect([given?.error, refused?.error]).to.deep.equal(['enough', 'enough']);
    gate.resolve();
    await backend.clock.advance(0);
    expect(backend.portCalls.acquire).to.equal(1);
    expect(backend.givenBack.filter((one) => one === id)).to.have.length(2);
  });

  it('delivers the replies of all others beside one that cannot be read, and stays free', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => {
      const reply = backend.allGranted(call);
      return call.key.name === 's1' ? Object.assign(reply, { verdicts: undefined }) : reply;
    };
    const all = semaphores(backend, 3);
    for (let round = 0; round < 3; round += 1) {
      const asking = all.map((one) => watch(backend.clock, one.acquire(1000)));
      await backend.clock.advance(1000);
      const [first, unread, last] = asking;
      expect(unread?.error).to.have.property('cause').that.is.instanceOf(TypeError);
      for (const one of [first, last]) expect(await one?.value?.release()).to.equal(true);
    }
  });

  it('says of each semaphore for how long its requests are wanted, not for the longest of all', async () => {
    const backend = new StubBackend();
    const [first, second] = semaphores(backend, 2);
    void first?.acquire(20).catch(() => undefined);
    await backend.clock.advance(30);
    const called = backend.acquires.length;
    void first?.acquire(20).catch(() => undefined);
    void second?.acquire(2000).catch(() => undefined);
    await backend.clock.advance(0);
    const [short, long] = backend.acquires.slice(called).map(({ call }) => call.notAfter ?? NaN);
    expect((long ?? NaN) - (short ?? NaN)).to.be.within(1900, 2070);
    await backend.clock.advance(3000);
  });

  it('tries all together again after an error that passes', async () => {
    const backend = new StubBackend();
    backend.onAcquire = () => Promise.reject(new Error('away'));
    const asking = semaphores(backend, 50).map((one) => watch(backend.clock, one.acquire(1000)));
    await backend.clock.advance(0);
    expect(backend.portCalls.acquire).to.equal(1);
    backend.onAcquire = (call) => backend.allGranted(call);
    await backend.clock.advance(10);
    expect(backend.portCalls.acquire).to.equal(2);
    for (const { value } of asking) await value?.release();
  });
});
