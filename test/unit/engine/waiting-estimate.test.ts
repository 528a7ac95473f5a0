import { expect } from 'chai';
import { stub } from 'sinon';

import type { QueueProgress } from '../../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';

const NAME = 'jobs';
const CALLERS = 60;

interface Wait {
  readonly estimate: number;
  readonly waited: number;
}

/** Numbers between 0 and 1, the same in every run. */
function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

describe('the progress that a waiting request hears of', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let semaphore: Semaphore;

  beforeEach(start);
  afterEach(() => semaphore.close());

  function start(): void {
    clock = new ManualClock(1e12);
    backend = new MemoryBackend({ clock });
    semaphore = new Semaphore(backend, NAME, { limit: 5 });
  }

  function hold(milliseconds: number): Promise<void> {
    return new Promise((resolve) => clock.schedule(resolve, milliseconds));
  }

  it('has an estimate within 30 % of the wait for 90 % of all, in a steady state', async () => {
    const random = drawing(7);
    const waits: Wait[] = [];
    const call = async (): Promise<void> => {
      const asked = clock.monotonic();
      let first: QueueProgress | undefined;
      const onWaiting = (progress: QueueProgress): void => void (first ??= progress);
      const handle = await semaphore.acquire({ onWaiting });
      const { estimate } = first ?? {};
      const waited = clock.monotonic() - asked;
      if (estimate !== undefined && asked > 20_000) waits.push({ estimate, waited });
      await hold(-500 * Math.log(random()));
      await handle.release();
    };
    const ended = { yet: false };
    const loop = async (): Promise<void> => {
      while (!ended.yet) await call();
    };
    const loops = Array.from({ length: CALLERS }, loop);
    await clock.advance(60_000);
    ended.yet = true;
    await clock.advance(30_000);
    await Promise.all(loops);
    const near = waits.filter(({ estimate, waited }) => Math.abs(estimate / waited - 1) <= 0.3);
    expect(waits.length).to.be.above(300);
    expect(near.length / waits.length).to.be.at.least(0.9);
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

  it('ends the wait with the error that its listener throws, and leaves nothing behind', async () => {
    const holder = await semaphore.acquire({ permits: 5 });
    const onWaiting = (): void => {
      throw new RangeError('no more than two');
    };
    const asking = errorOf(semaphore.acquire({ onWaiting }), RangeError);
    await clock.advance(100);
    expect((await asking).message).to.equal('no more than two');
    await clock.advance(100);
    expect(await semaphore.inspect()).to.include({ waiting: 0, held: 5 });
    await holder.release();
  });
});
