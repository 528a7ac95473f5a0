import { getEventListeners } from 'node:events';
import { expect } from 'chai';

import {
  AcquireTimeoutError,
  BackendError,
  KeyedMutex,
  ManualClock,
  MemoryBackend,
  Mutex,
} from '../../src/index.js';
import { collectUntil } from '../support/garbage.js';
import { never, StubBackend, watch } from './stub-backend.js';

const name = 'm';
const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`);

/** Time passes by `step` until it is over. */
async function pass(clock: ManualClock, duration: number): Promise<void> {
  for (let passed = 0; passed < duration; passed += 5) await clock.advance(5);
}

/** A keyed mutex in memory and, as if elsewhere, the mutexes under its keys. */
function inMemory(): { clock: ManualClock; mutex: KeyedMutex; under: (key: string) => Mutex } {
  const clock = new ManualClock();
  const backend = new MemoryBackend({ clock });
  const options = { label: 'elsewhere' };
  const under = (key: string): Mutex => new Mutex(backend, `keyed:${name}:${key}`, options);
  return { clock, mutex: new KeyedMutex(backend, { name }), under };
}

describe('a keyed mutex', () => {
  it('asks for all keys in one turn, and gives all back in one', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    const mutex = new KeyedMutex(backend, { name });
    const handle = await mutex.acquire(keys, 1000);
    expect(backend.acquires).to.have.lengthOf(keys.length);
    const releasing = handle.release();
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(backend.givenBack).to.have.lengthOf(keys.length);
    await releasing;
    const order = backend.releases.map(({ call }) => call.key.name);
    expect(order).to.deep.equal(
      keys
        .map((key) => `keyed:${name}:${key}`)
        .toSorted()
        .toReversed(),
    );
  });

  it('asks for each key once, without queueing for it, before the first answer', async () => {
    const backend = new StubBackend();
    const held = never<never>();
    backend.onAcquire = () => held;
    const mutex = new KeyedMutex(backend, { name });
    const acquiring = watch(backend.clock, mutex.acquire(keys, 1000));
    await backend.clock.advance(0);
    expect(backend.acquires).to.have.lengthOf(keys.length);
    expect(backend.acquires.every(({ call }) => call.requests.every(({ wait }) => !wait))).to.equal(
      true,
    );
    await pass(backend.clock, 1100);
    expect(acquiring.done).to.equal(true);
  });

  it('tries the first key alone, then all others in one turn', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allBusy(call);
    const mutex = new KeyedMutex(backend, { name });
    expect(await mutex.tryAcquire(keys)).to.equal(null);
    expect(backend.acquires).to.have.lengthOf(1);
    const turns = new Set<number>();
    let turn = 0;
    backend.onAcquire = async (call) => {
      turns.add(turn);
      await new Promise((resolve) => setImmediate(resolve));
      turn += 1;
      return backend.allGranted(call);
    };
    expect(await mutex.tryAcquire(keys)).to.include({ held: true });
    expect(turns).to.have.property('size', 2);
  });

  it('needs few turns when one key in the middle was busy', async () => {
    const { clock, mutex, under } = inMemory();
    const middle = keys.toSorted()[20] ?? '';
    const holder = await under(middle).acquire();
    const acquiring = watch(clock, mutex.acquire(keys, 10_000));
    await pass(clock, 20);
    expect(await under(middle).inspect()).to.include({ held: 1, waiting: 1 });
    const behind = keys.toSorted().slice(21);
    for (const key of behind) expect(await under(key).inspect()).to.include({ held: 0 });
    await holder.release();
    await clock.advance(0);
    await clock.advance(0);
    expect(acquiring.value).to.include({ held: true });
  });

  it('counts one deadline for all keys', async () => {
    const { clock, mutex, under } = inMemory();
    const [a, b, c] = [await under('a').acquire(), await under('b').acquire(), under('c')];
    const acquiring = watch(clock, mutex.acquire(['a', 'b', 'c'], 300));
    await pass(clock, 200);
    await a.release();
    await pass(clock, 90);
    expect(acquiring.done).to.equal(false);
    await pass(clock, 15);
    expect(acquiring.error).to.be.instanceOf(AcquireTimeoutError);
    expect(acquiring.error).to.include({ timeout: 300, semaphore: `keyed:${name}:b` });
    expect((acquiring.error as AcquireTimeoutError).waited).to.be.within(300, 305);
    await clock.advance(0);
    for (const free of [under('a'), c]) expect(await free.inspect()).to.include({ held: 0 });
    expect(b.held).to.equal(true);
  });

  it('keeps its deadline while the backend hangs, and says that there was no reply', async () => {
    const backend = new StubBackend();
    backend.onAcquire = () => never();
    const mutex = new KeyedMutex(backend, { name });
    const acquiring = watch(backend.clock, mutex.acquire(['a', 'b'], 100));
    await pass(backend.clock, 105);
    expect(acquiring.at).to.be.within(100, 105);
    expect(acquiring.error).to.be.instanceOf(AcquireTimeoutError);
    const { cause, timeout } = acquiring.error as AcquireTimeoutError;
    expect(String(cause)).to.include('no reply');
    expect(timeout).to.equal(100);
  });

  it('ends at once when one key fails for good, without waiting for the others', async () => {
    const backend = new StubBackend();
    const failure = new Error('WRONGTYPE');
    backend.isRetryable = () => false;
    backend.onAcquire = (call, index) => {
      if (index === 0) return backend.allGranted(call);
      return index === 1 ? Promise.reject(failure) : never();
    };
    const mutex = new KeyedMutex(backend, { name });
    const acquiring = watch(backend.clock, mutex.acquire(['a', 'b', 'c']));
    await backend.clock.advance(0);
    expect(acquiring.error).to.be.instanceOf(BackendError).with.property('cause', failure);
    const [granted] = backend.acquires[0]?.call.requests ?? [];
    expect(backend.givenBack).to.include(granted?.id);
  });

  it('goes on trying inside its deadline while the backend fails', async () => {
    const backend = new StubBackend();
    const failure = new Error('LOADING');
    backend.onAcquire = () => Promise.reject(failure);
    const mutex = new KeyedMutex(backend, { name });
    const late = watch(backend.clock, mutex.acquire(['a', 'b'], 300));
    await pass(backend.clock, 305);
    expect(late.error).to.be.instanceOf(AcquireTimeoutError).with.property('cause', failure);
    const trying = watch(backend.clock, mutex.tryAcquire(['a', 'b']));
    await pass(backend.clock, 10);
    expect(trying.error).to.be.instanceOf(BackendError).with.property('cause', failure);
    const acquiring = watch(backend.clock, mutex.acquire(['a', 'b'], 300));
    await pass(backend.clock, 100);
    backend.onAcquire = (call) => backend.allGranted(call);
    await pass(backend.clock, 200);
    expect(acquiring.value).to.include({ held: true });
  });

  it('takes a key again that it lost while it waited for another', async () => {
    const { clock, mutex, under } = inMemory();
    const holder = await under('b').acquire();
    const acquiring = watch(clock, mutex.acquire(['a', 'b'], 60_000));
    await pass(clock, 10);
    const [ticket] = (await under('a').inspect()).holders;
    expect(await under('a').revoke(ticket?.id ?? '')).to.equal(true);
    const thief = await under('a').acquire();
    await pass(clock, 12_000);
    await holder.release();
    await pass(clock, 20);
    expect(acquiring.done, 'while the thief holds a').to.equal(false);
    expect(await under('b').inspect(), 'b is behind a').to.include({ held: 0 });
    await thief.release();
    await pass(clock, 20);
    expect(acquiring.value).to.include({ held: true });
  });

  it('takes its timers and its listeners back, however it ends', async () => {
    const { clock, mutex, under } = inMemory();
    const { signal } = new AbortController();
    const holder = await under('b').acquire();
    const before = clock.timers;
    const late = watch(clock, mutex.acquire(['a', 'b'], { timeout: 50, signal }));
    await pass(clock, 60);
    expect(late.error).to.be.instanceOf(AcquireTimeoutError);
    await holder.release();
    const handle = await mutex.acquire(['a', 'b'], { timeout: 50, signal });
    await handle.release();
    expect(getEventListeners(signal, 'abort')).to.have.lengthOf(0);
    expect(clock.timers).to.be.at.most(before);
  });

  it('keeps nothing of keys that nobody uses', async () => {
    const mutex = new KeyedMutex(new MemoryBackend(), { name });
    const useKeys = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i += 1) await mutex.use(`key ${i}`, () => undefined);
    };
    const heap = (): number => process.memoryUsage().heapUsed;
    await useKeys(0, 200);
    let before = Infinity;
    await collectUntil(() => heap() >= before || ((before = heap()), false));
    await useKeys(200, 5200);
    // A semaphore that is kept takes more than a kilobyte.
    await collectUntil(() => heap() - before < 2_500_000);
    await mutex.close();
  });
});
