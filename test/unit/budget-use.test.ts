import { expect } from 'chai';

import type { Backend } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { RandomNumbers } from '../support/random-numbers.js';

const MINUTE = 60_000;
const BUDGET = { amount: 90_000, per: MINUTE };

interface Use {
  readonly at: number;
  readonly spent: number;
}

/** The largest sum in any window of that length. */
function mostIn(uses: readonly Use[], window: number): number {
  return Math.max(
    ...uses.map(({ at: from }) =>
      uses.reduce(
        (sum, { at, spent }) => (at >= from && at < from + window ? sum + spent : sum),
        0,
      ),
    ),
  );
}

/** Another process: a client with its own name and inbox. */
function door(memory: MemoryBackend, onCall: () => void): Backend {
  const counted = <C, R>(call: (calls: readonly C[]) => R) => {
    return (calls: readonly C[]): R => {
      onCall();
      return call(calls);
    };
  };
  return {
    clock: memory.clock,
    acquire: counted((calls) => memory.acquire(calls)),
    extend: (calls) => memory.extend(calls),
    release: counted((calls) => memory.release(calls)),
    setRate: (call) => memory.setRate(call),
    setGroupLimit: (call) => memory.setGroupLimit(call),
    inspect: (call) => memory.inspect(call),
    listen: (client, prefix, listener) => memory.listen(client, prefix, listener),
  };
}

/** Ten callers in each of four processes: what each grant has spent, and how many calls it took. */
async function work(hold: number, seed: number) {
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const random = new RandomNumbers(seed);
  const uses: Use[] = [];
  let calls = 0;
  const until = clock.monotonic() + 6 * MINUTE;
  const all = Array.from({ length: 4 }, () => {
    const semaphore = new Semaphore(
      door(memory, () => (calls += 1)),
      'llm',
      {
        limit: 40,
        groupLimit: 8,
        budgets: { tokens: BUDGET },
      },
    );
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
  for (const [hold, seed] of [
    [200, 1],
    [3000, 2],
    [20_000, 3],
  ] as const) {
    it(`is never spent above its amount and burst in any window, with holds of ${hold} ms`, async () => {
      const { uses, calls } = await work(hold, seed);
      expect(uses.length).to.be.above(100);
      expect(mostIn(uses, MINUTE)).to.be.at.most(2 * BUDGET.amount);
      // One to queue, one at the time that the budget names, one to release, and what renews the
      // leases of four processes, every 1.5 s each.
      expect(calls / uses.length).to.be.below(4.2);
    });
  }
});
