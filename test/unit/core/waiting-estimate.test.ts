import { expect } from 'chai';
import { stub } from 'sinon';

import type { Handle, QueueProgress } from '../../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../../src/index.js';
import { collectUntil } from '../../support/garbage.js';
import { RandomNumbers } from '../../support/random-numbers.js';

describe('the progress that a waiting request hears of', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let semaphore: Semaphore;

  beforeEach(start);
  afterEach(() => semaphore.close());

  function start(): void {
    clock = new ManualClock(1e12);
    backend = new MemoryBackend({ clock });
    semaphore = new Semaphore(backend, 'jobs', { limit: 5 });
  }

  it('has an estimate within 30 % of the wait for 90 % of all, in a steady state', async () => {
    const random = new RandomNumbers(7);
    const ratios: number[] = [];
    const call = async (): Promise<void> => {
      const asked = clock.monotonic();
      let estimate: number | undefined;
      const onWaiting = (progress: QueueProgress): void => void (estimate ??= progress.estimate);
      const handle = await semaphore.acquire({ onWaiting });
      const waited = clock.monotonic() - asked;
      if (estimate !== undefined && asked > 20_000) ratios.push(estimate / waited);
      await new Promise<void>((resolve) =>
        clock.schedule(resolve, -500 * Math.log(1 - random.next())),
      );
      await handle.release();
    };
    const loop = async (): Promise<void> => {
      while (clock.monotonic() < 60_000) await call();
    };
    const loops = Array.from({ length: 60 }, loop);
    await clock.advance(90_000);
    await Promise.all(loops);
    expect(ratios.length).to.be.above(300);
    const near = ratios.filter((ratio) => Math.abs(ratio - 1) <= 0.3);
    expect(near.length / ratios.length).to.be.at.least(0.9);
  });

  /** How often the backend is asked by three that wait for ten seconds. */
  async function callsOf(onWaiting?: (progress: QueueProgress) => void): Promise<number> {
    const asked = stub(backend, 'acquire').callThrough();
    const holder = await semaphore.acquire({ permits: 5 });
    const options = onWaiting === undefined ? {} : { onWaiting };
    const waiting = Array.from({ length: 3 }, () => semaphore.acquire(options));
    await clock.advance(10_000);
    await holder.release();
    for (const handle of await Promise.all(waiting)) await handle.release();
    return asked.callCount;
  }

  it('costs no call, and comes only when it has changed', async () => {
    const plain = await callsOf();
    start();
    const heard: string[] = [];
    const note = ({ position, waiting }: QueueProgress) =>
      void heard.push(`${position} of ${waiting}`);
    expect(await callsOf(note)).to.equal(plain);
    expect(heard).to.deep.equal(['0 of 3', '1 of 3', '2 of 3']);
  });

  it('is heard no longer than it waits: a listener may refer to its own handle', async () => {
    const handles: WeakRef<object>[] = [];
    const job = async (): Promise<void> => {
      const handle: Handle = await semaphore.acquire({ onWaiting: () => void handle });
      // Once it is renewed, the lease holds its handle weakly.
      await handle.extend();
      handles.push(new WeakRef(handle));
    };
    await job();
    await collectUntil(() => handles.every((ref) => ref.deref() === undefined));
  });
});
