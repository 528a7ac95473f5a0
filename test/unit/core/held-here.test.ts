import { expect } from 'chai';

import {
  acquireAll,
  AcquireTimeoutError,
  KeyedMutex,
  ManualClock,
  MemoryBackend,
  Semaphore,
} from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';

describe('a time-out and a wait say what this process holds itself', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  const timedOut = async (
    waiting: Promise<unknown>,
    time: number,
  ): Promise<AcquireTimeoutError> => {
    const failing = errorOf(waiting, AcquireTimeoutError);
    await clock.advance(time);
    return failing;
  };

  it('names the permits, for how long, and the label of its oldest holder', async () => {
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1, label: 'web-1:42' });
    const handle = await semaphore.acquire();
    await clock.advance(29_900);
    const error = await timedOut(semaphore.acquire(100), 100);
    expect(error.heldHere).to.equal(1);
    expect(error.message).to.include(
      '; 1 of 1 permits is held by this process, for 30 s, as web-1:42: does the holder wait for this acquire?; see',
    );
    await handle.release();
    expect((await timedOut(idle().acquire(0), 0)).heldHere).to.equal(0);
  });

  /** Its permit is held by another process. */
  function idle(): Semaphore {
    const other = new ManualClock();
    void new Semaphore(backend, 'jobs', { limit: 1, clock: other }).acquire();
    return new Semaphore(backend, 'jobs', { limit: 1 });
  }

  it('counts all objects of the semaphore in this process, and no other name', async () => {
    const [one, two] = [1, 2].map(() => new Semaphore(backend, 'jobs', { limit: 5, label: '' }));
    const other = new Semaphore(backend, 'other', { limit: 5 });
    const handles = [
      await one?.acquire({ permits: 2 }),
      await two?.acquire({ permits: 3 }),
      await other.acquire(),
    ];
    const error = await timedOut(two?.acquire(250) ?? Promise.resolve(), 250);
    expect(error.heldHere).to.equal(5);
    expect(error.message).to.include(
      '; 5 of 5 permits are held by this process, for 250 ms: does the holder wait',
    );
    for (const handle of handles) await handle?.release();
  });

  it('is of the key that was missing, for locks of several', async () => {
    const locks = new KeyedMutex(backend, { label: 'web-1:42' });
    const handle = await locks.acquire('b');
    const error = await timedOut(locks.acquire(['a', 'b'], 100), 100);
    expect(error.heldHere).to.equal(1);
    expect(error.message).to.include(
      '; 1 of 1 permits is held by this process, for 100 ms, as web',
    );
    expect((await timedOut(locks.acquire('b', 0), 0)).heldHere).to.equal(1);
    await handle.release();

    const free = new Semaphore(backend, 'free', { limit: 1 });
    const taken = new Semaphore(backend, 'taken', { limit: 1 });
    const held = await taken.acquire();
    expect((await timedOut(acquireAll([free, taken], 50), 50)).heldHere).to.equal(1);
    await held.release();
  });
});
