import { expect } from 'chai';

import type { AcquireOptions, RateOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { mostIn, processOn, type Use } from '../support/metered-process.js';

const MINUTE = 60_000;
interface Crew {
  readonly rate: RateOptions;
  readonly limit: number;
  /** Left out: 4. */
  readonly processes?: number;
  /** Callers in each process. */
  readonly tasks: number;
  /** Each process asks for a group. */
  readonly grouped?: boolean;
  readonly hold: number;
}

interface Outcome {
  /** When each permit was granted, in milliseconds: each has spent one. */
  readonly grants: Use[];
  readonly peak: number;
  readonly calls: number;
}

/** Callers in some processes that take permits one after the other, for some minutes. */
async function work(crew: Crew, minutes: number): Promise<Outcome> {
  const { rate, limit, processes = 4, tasks, hold, grouped = false } = crew;
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const grants: Use[] = [];
  let [calls, held, peak] = [0, 0, 0];
  const until = clock.monotonic() + minutes * MINUTE;
  const semaphores = Array.from({ length: processes }, () => {
    const own = processOn(memory, () => (calls += 1));
    return new Semaphore(own, 'api', { limit, rate });
  });
  const call = async (semaphore: Semaphore, order: AcquireOptions): Promise<void> => {
    while (clock.monotonic() < until) {
      await semaphore.use(async () => {
        grants.push({ at: clock.monotonic(), spent: 1 });
        held += 1;
        peak = Math.max(peak, held);
        await new Promise<void>((resolve) => void clock.schedule(resolve, hold));
        held -= 1;
      }, order);
    }
  };
  const all = semaphores.flatMap((semaphore, i) => {
    const order = grouped ? { group: `process ${i}`, weight: 1 + (i % 3) } : {};
    return Array.from({ length: tasks }, () => call(semaphore, order).catch(() => undefined));
  });
  await clock.advance(minutes * MINUTE);
  const outcome = { grants, peak, calls };
  await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  await clock.advance(MINUTE);
  await Promise.all(all);
  return outcome;
}

describe('a rate, in several processes', () => {
  const rate = { permits: 100, per: MINUTE };

  it('of 100 a minute and 2 at once is never above, and used to 99 %', async () => {
    const { grants, peak, calls } = await work({ rate, limit: 2, tasks: 10, hold: 700 }, 4);
    expect(mostIn(grants, MINUTE)).to.equal(100);
    expect(peak).to.equal(2);
    expect(grants.length).to.be.at.least(4 * 100 * 0.99);
    // Three are needed: one to queue, one that comes at the moment which the rate names, and one to
    // release. The others renew the leases of four waiting processes, every 1.5 s each.
    expect(calls / grants.length).to.be.below(4.6);
  });

  it('is asked for by the process that is next, of 24 groups', async () => {
    const ten = { permits: 10, per: 1000 };
    const crew = { rate: ten, limit: 1000, processes: 24, tasks: 20, hold: 10, grouped: true };
    const { grants, calls } = await work(crew, 1);
    expect(grants.length).to.be.at.least(60 * 10 * 0.99);
    // Three for each, and what renews the leases of 24 processes, every 1.5 s each.
    expect(calls / grants.length).to.be.below(3 + 24 / 1.5 / 10 + 0.5);
  });

  it('with a burst is used in full', async () => {
    const burst = { ...rate, burst: 5 };
    const { grants } = await work({ rate: burst, limit: Infinity, tasks: 10, hold: 100 }, 3);
    expect(mostIn(grants, MINUTE)).to.equal(104);
    expect(grants.length).to.be.within(300, 305);
  });
});
