import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { BackendError, Semaphore } from '../../../src/index.js';
import { type StubBackend, watch } from '../stub-backend.js';
import { granting, later, PLAIN } from '../stub-fixture.js';

const damaged = new Error('WRONGTYPE');

/** An error of a damaged semaphore stays. */
function semaphores(backend: StubBackend, count: number): Semaphore[] {
  backend.isRetryable = (error) => error !== damaged;
  const options = { limit: 5, ttl: 3000, retry: PLAIN };
  return Array.from({ length: count }, (_, i) => new Semaphore(backend, `s${i}`, options));
}

describe('a batcher', () => {
  it('sends at most 100 ids in a call, 1000 of a single semaphore, and two calls at once; the others follow', async () => {
    const [backend, gate] = [granting(), later<void>()];
    backend.onAcquire = (call) => gate.promise.then(() => backend.allGranted(call));
    const all = semaphores(backend, 251);
    const several = all.slice(0, 1).flatMap((one) => Array.from({ length: 2500 }, () => one));
    const asking = [...several, ...all.slice(1)].map((one) => one.acquire());
    await backend.clock.advance(0);
    const sizes = () => backend.acquires.map(({ call }) => call.requests.length);
    const hundred = Array.from({ length: 100 }, () => 1);
    expect([sizes(), backend.portCalls.acquire]).to.deep.equal([[1000, ...hundred], 2]);
    gate.resolve();
    await Promise.all(asking);
    const rest = sizes().slice(101);
    expect(rest.filter((size) => size > 1)).to.deep.equal([1000, 500]);
    expect(rest.filter((size) => size === 1)).to.have.length(150);
    expect(backend.portCalls.acquire).to.equal(3 + 3);
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
    // Calls of 100 semaphores with 5 tickets each, of 100 with a ticket each, and of 50.
    expect(backend.portCalls.extend - before).to.equal(3);
  });

  it('sends a lone call in the turn in which it is made, and waits for no fake ticks that never come', async () => {
    const backend = granting();
    const [one] = semaphores(backend, 1);
    const first = one?.acquire();
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(backend.portCalls.acquire).to.equal(1);
    const fake = useFakeTimers({ toFake: ['nextTick'] });
    const second = one?.acquire(10);
    fake.restore();
    const handles = await Promise.all([first, second, one?.acquire(10)]);
    expect(backend.portCalls.acquire).to.equal(2);
    for (const handle of handles) await handle?.release();
    expect(backend.portCalls.release).to.equal(3);
  });

  it('sends a damaged semaphore in separate calls, so that its neighbours share theirs', async () => {
    const backend = granting();
    backend.onAcquire = (call) =>
      call.key.name === 's1' ? Promise.reject(damaged) : backend.allGranted(call);
    const all = semaphores(backend, 201);
    const round = (several: Semaphore[]) => Promise.allSettled(several.map((one) => one.acquire()));
    await round(all.slice(0, 2));
    const before = backend.portCalls.acquire;
    const moreOfIt = Array.from({ length: 99 }, () => all.slice(1, 2)).flat();
    const settled = await round([...all, ...moreOfIt]);
    expect(settled.filter(({ status }) => status === 'fulfilled')).to.have.length(200);
    // Calls of the semaphore before it, of the damaged one, and of 100 and 99 behind it.
    expect(backend.portCalls.acquire - before).to.equal(4);
  });

  it('loses no lease of many semaphores when a server refuses calls for a while', async () => {
    const backend = granting();
    const { clock } = backend;
    const handles = await Promise.all(semaphores(backend, 300).map((one) => one.acquire()));
    backend.onExtend = async (call) => {
      await new Promise<void>((resolve) => clock.schedule(resolve, 10));
      if (clock.monotonic() < 2000) throw damaged;
      return backend.extended(call);
    };
    await clock.advance(4000);
    expect(handles.filter(({ held }) => !held)).to.deep.equal([]);
  });

  it('has given back what a shared call gave back before it failed for another semaphore', async () => {
    const backend = granting();
    const held = await Promise.all(semaphores(backend, 2).map((one) => one.acquire()));
    backend.onRelease = (call, index) =>
      call.key.name === 's1' ? Promise.reject(damaged) : backend.released(call, index === 0);
    const [healthy, refused] = held.map((handle) => watch(backend.clock, handle.release()));
    await backend.clock.advance(0);
    expect(backend.releases.map(({ call }) => call.key.name).join()).to.equal('s0,s1,s0,s1');
    expect(healthy?.value).to.equal(true);
    expect(refused?.error).to.be.instanceOf(BackendError).with.property('cause', damaged);
  });

  it('does not send a request again that was given up meanwhile, and withdraws it once more: the failed call may have run last', async () => {
    const [backend, gate] = [granting(), later<void>()];
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
});
