import { expect } from 'chai';
import { spy } from 'sinon';

import type { InspectCall, InspectReply, PushedGrant } from '../../../src/backends/backend.js';
import { NO_ORDER } from '../../../src/backends/request-order.js';
import { Semaphore } from '../../../src/index.js';
import { never, type StubBackend, watch } from '../stub-backend.js';
import { gaps, heldFixture, later, listeningFixture, PLAIN } from '../stub-fixture.js';
import { pushing, stubFixture } from '../stub-fixture.js';

describe('a subscription', () => {
  it('brings a try at once, and then a try every 1.5 s; while it is away, fast tries', async () => {
    const { backend, clock, acquire } = stubFixture({}, pushing());
    acquire(60_000);
    await clock.advance(310);
    expect(gaps(backend.tries)).to.deep.equal([10, 20, 40, 80, 160]);
    backend.acquires.splice(0);
    await backend.setHealth(true);
    await clock.advance(6100);
    expect(backend.tries).to.deep.equal([310, 1810, 3310, 4810, 6310]);
    await backend.setHealth(false);
    await clock.advance(150);
    expect(backend.acquires.length).to.be.within(8, 10);
    backend.acquires.splice(0);
    await backend.setHealth(true);
    await clock.advance(1400);
    expect(backend.acquires).to.have.length(1);
  });

  it('is shared by all waiters, stays open 10 s after the last, a second while it connects, and keeps no process alive', async () => {
    const stub = pushing();
    const opened = spy(stub, 'listen');
    const { backend, clock, semaphore, acquire } = stubFixture({}, stub);
    const counts = () => [opened.callCount, backend.closedListeners, clock.timers];
    for (let wait = 0; wait < 3; wait += 1) {
      acquire(100);
      await clock.advance(1000);
    }
    expect(counts()).to.deep.equal([1, 0, 1]);
    await clock.advance(100);
    expect(counts()).to.deep.equal([1, 1, 0]);
    const other = new Semaphore(backend, 'other', { limit: 1, retry: PLAIN });
    watch(clock, other.acquire(5000));
    acquire(100);
    await clock.advance(200);
    await backend.setHealth(true);
    await new Semaphore(backend, 'idle', { limit: 1 }).close();
    await clock.advance(14_000);
    acquire(100);
    const schedule = spy(clock, 'schedule');
    await clock.advance(10_099);
    // The timer that is set keeps no process alive.
    expect(schedule.args.at(-1)?.slice(2)).to.deep.equal([false]);
    expect(counts()).to.deep.equal([2, 1, 1]);
    await clock.advance(1);
    expect(counts()).to.deep.equal([2, 2, 0]);
    acquire(100);
    await clock.advance(200);
    await backend.setHealth(false);
    expect(counts()).to.deep.equal([3, 3, 0]);
    backend.acquires.splice(0);
    acquire(60_000);
    await clock.advance(70);
    expect(gaps(backend.tries)).to.deep.equal([10, 20, 40]);
    void backend.setHealth(true);
    await semaphore.close();
    expect([backend.listeners.length, ...counts()]).to.deep.equal([0, 4, 4, 0]);
  });

  for (const how of ['is refused', 'throws'] as const) {
    it(`that ${how} is made again every 5 s while a request waits and polls`, async () => {
      const stub = pushing();
      let opened = 0;
      let works = false;
      const listen = stub.listen;
      stub.listen = (...given) => {
        opened += 1;
        if (!works && how === 'throws') throw new Error('no right to subscribe');
        if (!works) void Promise.resolve().then(() => given[2].onFailed?.());
        return listen?.(...given) ?? { close: never };
      };
      const { backend, clock, acquire } = stubFixture({}, stub);
      const waiting = acquire(12_000);
      await clock.advance(4999);
      expect([opened, backend.listeners.length]).to.deep.equal([1, 0]);
      await clock.advance(1);
      expect(opened).to.equal(2);
      works = true;
      await clock.advance(5000);
      // An unchanged health does not make the polling fast again.
      expect([...new Set(gaps(backend.tries).slice(6))]).to.deep.equal([200]);
      await backend.setHealth(true);
      await backend.push(backend.ids[0] ?? '');
      expect([opened, waiting.at]).to.deep.equal([3, 10_000]);
      await waiting.value?.release();
      works = false;
      backend.listeners[0]?.onFailed?.();
      await clock.advance(30_000);
      expect([opened, clock.timers], 'no request waits').to.deep.equal([3, 0]);
    });
  }
});

describe('a pushed grant', () => {
  it('is taken at once, without another call, and needs none for a short task', async () => {
    const { backend, clock, waiting, id } = await listeningFixture();
    await clock.advance(700);
    const before = backend.acquires.length;
    await backend.push(id);
    expect(waiting.at).to.equal(700);
    expect(waiting.value).to.include({ held: true, id });
    expect(waiting.value?.expiresIn).to.be.within(4900, 5000 - 52);
    void backend.push(id, undefined, waiting.value?.fencingToken);
    await clock.advance(49);
    expect([waiting.value?.held, backend.givenBack]).to.deep.equal([true, []]);
    await waiting.value?.release();
    expect([backend.acquires.length, backend.extends.length]).to.deep.equal([before, 0]);
  });

  it('has its full ttl within its claim time, also where its holder extends it and a call is silent', async () => {
    const { backend, clock, waiting, id } = await listeningFixture({ ttl: 30_000, extendEvery: 0 });
    backend.onExtend = (call, index) => (index === 0 ? never() : backend.extended(call));
    void backend.push(id);
    await clock.advance(2000);
    expect(backend.extends.map(({ at, call }) => [at, call.ids])).to.deep.equal([
      [50, [id]],
      [50 + 5000 / 4 + PLAIN.min, [id]],
    ]);
    expect(waiting.value?.expiresIn).to.be.above(28_000);
  });
});

it('a ticket whose id was granted again is lost and given back by an extension, not by messages, which cost two calls', async () => {
  const { backend, clock, asked, handle, losses } = await heldFixture({}, pushing());
  backend.onAcquire = (call) => backend.allQueued(call);
  await asked();
  for (let i = 0; i < 100; i++) void backend.push(handle.id);
  await clock.advance(0);
  for (let i = 0; i < 100; i++) void backend.sayRevoked(handle.id);
  await clock.advance(0);
  expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[handle.id], [handle.id]]);
  expect(backend.extends[0]?.call.fencingTokens).to.deep.equal([handle.fencingToken]);
  expect([handle.held, backend.givenBack]).to.deep.equal([true, []]);
  backend.onExtend = (call) => backend.extended(call, false);
  await backend.push(handle.id);
  expect(losses.map(([, { reason }]) => reason)).to.deep.equal(['missing']);
  expect([handle.held, backend.givenBack]).to.deep.equal([false, [handle.id]]);
});

describe('a grant without a request', () => {
  function empty({ limit }: InspectCall): InspectReply {
    return { limit, limitFrom: 'caller', held: 0, waiting: 0, holders: [], waiters: [] };
  }

  async function interrupt(backend: StubBackend): Promise<void> {
    for (const healthy of [false, true]) await backend.setHealth(healthy);
  }

  it('is left alone when no request of this process can have had its id', async () => {
    const { backend, clock, waiting, id } = await listeningFixture();
    const client = id.split('.')[0] ?? '';
    const made = ['another.1', `${client}.3`, `${client}.01`, `${client}.1.1`, `${client}.1~a.1`];
    const grants: PushedGrant[] = [...made, '', client].map((one) => {
      return { id: one, fencingToken: 1, slots: [0], expiresAt: Number.MAX_SAFE_INTEGER };
    });
    for (const listener of backend.listeners) listener.onGrants(grants, 'jobs');
    await clock.advance(1);
    expect([backend.releases, waiting.done]).to.deep.equal([[], false]);
  });

  it('is given back once at a time, however often it comes', async () => {
    const { backend, clock, semaphore, acquire } = await listeningFixture();
    for (let i = 0; i < 1500; i++) acquire(1);
    await clock.advance(2);
    const many = backend.ids.slice(1);
    const push = async (...ids: readonly string[]): Promise<void> => {
      const grants = ids.map((id) => ({ id, fencingToken: 9, slots: [0], expiresAt: 9e9 }));
      for (const listener of backend.listeners) listener.onGrants(grants, 'jobs');
      await clock.advance(1);
    };
    backend.releases.length = 0;
    const gate = later<void>();
    backend.onRelease = (call) => gate.promise.then(() => backend.released(call));
    await push(...many, ...many);
    gate.resolve();
    await clock.advance(1);
    expect(backend.givenBack).to.have.members(many);
    // A request that was served: the server may have older data.
    backend.onAcquire = (call) => backend.allGranted(call);
    const served = await semaphore.acquire();
    await served.release();
    await push(served.id);
    expect(backend.givenBack.filter((each) => each === served.id)).to.have.lengthOf(2);
  });

  it('is found after an interruption, as are requests that were given up, also where a former look got no answer [P5]', async () => {
    const { backend, clock, semaphore, acquire, id } = await listeningFixture();
    backend.onAcquire = (call) => backend.allGranted(call);
    const [held, released] = [await semaphore.acquire(), await semaphore.acquire()];
    await released.release();
    backend.onAcquire = (call) => backend.allQueued(call);
    acquire(1);
    await clock.advance(10);
    const givenUp = backend.ids.at(-1) ?? '';
    backend.releases.length = 0;
    // The stub's inspect never answers.
    await interrupt(backend);
    await clock.advance(10_000);
    expect(backend.givenBack).to.deep.equal([]);
    const state = { slots: [0], fencingToken: 1, permits: 1, position: 0, label: '' };
    const times = { expiresIn: 1, heldFor: 1, waitingFor: 1 };
    const entry = (one: string) => ({ id: one, ...state, ...times, ...NO_ORDER });
    const holders = [held.id, released.id, 'another.1', `${held.id}~${released.id}`].map(entry);
    const waiters = [id, givenUp].map(entry);
    backend.onInspect = async (call) => ({ ...empty(call), holders, waiters });
    await interrupt(backend);
    await clock.advance(20);
    expect(backend.givenBack).to.have.members([released.id, givenUp]);
  });

  // The simulator's seed 983208825 of 5 minutes and 12 processes.
  it('is looked for also when no request waits but a call was under way', async () => {
    const { backend, clock } = await listeningFixture();
    const gate = later<void>();
    backend.onAcquire = (call) => gate.promise.then(() => backend.allGranted(call));
    const asking = watch(clock, new Semaphore(backend, 'other', { limit: 1 }).acquire(60_000));
    await clock.advance(0);
    const names: string[] = [];
    backend.onInspect = async (call) => {
      names.push(call.key.name);
      return empty(call);
    };
    await interrupt(backend);
    gate.resolve();
    await clock.advance(100);
    expect(names).to.include('other');
    await asking.value?.release();
  });

  it('is not looked for after close(), which leaves no timer of a look [P8]', async () => {
    const { backend, clock, semaphore } = await listeningFixture({ retry: { ...PLAIN, min: 100 } });
    const other = new Semaphore(backend, 'other', { limit: 1 });
    watch(clock, other.acquire());
    await clock.advance(0);
    const looks: number[] = [];
    backend.onInspect = () => {
      looks.push(clock.monotonic());
      return Promise.reject(new Error('LOADING'));
    };
    await interrupt(backend);
    const closing = watch(clock, Promise.all([semaphore.close(), other.close()]));
    await clock.advance(99);
    expect([closing.at, clock.timers === 0]).to.deep.equal([undefined, false]);
    await clock.advance(1);
    expect([closing.at, clock.timers]).to.deep.equal([100, 0]);
    await clock.advance(10_000);
    expect(looks).to.deep.equal([0]);
  });
});
