import { expect } from 'chai';

import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { mostIn, processOn, type Use } from '../support/metered-process.js';
import { RandomNumbers } from '../support/random-numbers.js';

const MINUTE = 60_000;
const BUDGET = { amount: 90_000, per: MINUTE };

/** Ten callers in each of four processes: what each grant has spent, and how many calls it took. */
async function work(hold: number, seed: number) {
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const random = new RandomNumbers(seed);
  const uses: Use[] = [];
  let calls = 0;
  const until = clock.monotonic() + 6 * MINUTE;
  const all = Array.from({ length: 4 }, () => {
    // Extensions are not counted: a hold needs them with or without a budget.
    const own = processOn(
      memory,
      () => (calls += 1),
      () => undefined,
    );
    const options = { limit: 40, groupLimit: 8, budgets: { tokens: BUDGET } };
    const semaphore = new Semaphore(own, 'llm', options);
    const call = async (group: string): Promise<void> => {
      while (clock.monotonic() < until) {
        const cost = 1 + Math.floor(4000 * random.next());
        const handle = await semaphore.acquire({ group, cost: { tokens: cost } });
        const at = clock.monotonic();
        await new Promise<void>((done) => void clock.schedule(done, hold * 2 * random.next()));
        const spent = Math.floor(cost * random.next());
        uses.push({ at, spent });
        await handle.release({ spent: { tokens: spent } });
      }
    };
    const callers = Array.from({ length: 10 }, (_, i) => call(`tenant ${i % 5}`));
    return { semaphore, ended: Promise.allSettled(callers) };
  });
  await clock.advance(6 * MINUTE);
  const outcome = { uses: [...uses], calls };
  await Promise.all(all.map(({ semaphore }) => semaphore.close()));
  await clock.advance(MINUTE);
  await Promise.all(all.map(({ ended }) => ended));
  return outcome;
}

describe('a budget, in several processes', () => {
  it('is never spent above its amount and burst in any window', async () => {
    const { uses, calls } = await work(3000, 2);
    expect(uses.length).to.be.above(100);
    expect(mostIn(uses, MINUTE)).to.be.at.most(2 * BUDGET.amount);
    // One to queue, one at the time that the budget names, one to release.
    expect(calls / uses.length).to.be.below(3.2);
  });

  for (const group of [undefined, 'tenant']) {
    it(`costs one call at each turn of a slow rate, ${group === undefined ? 'by arrival' : 'in groups'}`, async () => {
      const clock = new ManualClock(1_795_236_819_680);
      const memory = new MemoryBackend({ clock });
      const calls: number[] = [];
      const options = { limit: 40, rate: { permits: 1, per: 10 * MINUTE, burst: 1 } };
      const processes = Array.from({ length: 4 }, () => {
        const own = processOn(
          memory,
          () => calls.push(clock.monotonic()),
          () => undefined,
        );
        return new Semaphore(own, 'slow', options);
      });
      const handles = Promise.all(
        processes.map((semaphore, i) =>
          semaphore.acquire({ group: group && `${group} ${i}`, timeout: 60 * MINUTE }),
        ),
      );
      await clock.advance(31 * MINUTE);
      // Four ask, three again when they listen, and each at its turn; in groups also at others'.
      expect(calls.length).to.be.at.most(group === undefined ? 10 : 14);
      for (const handle of await handles) await handle.release();
      await Promise.all(processes.map((semaphore) => semaphore.close()));
    });
  }
});
