import { setTimeout as sleep } from 'node:timers/promises';

import type { BenchWorker } from '../measure/bench-worker.js';
import { median } from '../measure/quantile.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, peerOf, semaphores } from '../peers/catalog.js';
import { numberText } from '../report/number-text.js';
import type { Measured, Results } from '../report/results.js';
import { atMost, ratio, type Verdict } from '../report/verdict.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

const ticketSizes = [10, 100, 1000, 10_000, 100_000];
const waiterSizes = [0, 10, 100, 1000, 10_000];
const columns = [0, ...ticketSizes].map((size) => ({
  head: numberText(size),
  figure: String(size),
}));
const beside = 'server µs per acquire and release, beside that many held tickets';
const handOff = 'server µs per hand-off (acquire, grant and release) among that many waiters';
const upkeep = 'server ms per second that keep that many waiters alive';

/** Server time does not depend on the client, so one row of redsem is enough. */
const redsem = peerOf('redsem-ioredis');
const compared = semaphores.filter(
  ({ id, extends: keeps, maxLimit }) => keeps && maxLimit > 1 && id !== 'redsem-node-redis',
);

/** Holds more and more tickets; at each size one caller acquires and releases beside them. */
async function growTickets(stage: Stage, peer: Peer, pace: Pace): Promise<Measured['values']> {
  const worker = await stage.worker(peer);
  const sizes = pace === 'full' ? ticketSizes : ticketSizes.slice(0, 3);
  const limit = 200_000;
  const task = { names: ['growth'], limit, loops: 1 };
  const values: Record<string, number> = {};
  let size = 0;
  for (const wanted of sizes) {
    await worker.ask('hold', { ...task, count: wanted - size, ttl: 600_000, gapMs: 0 });
    size = wanted;
    await worker.ask('pairs', { ...task, ms: pace === 'full' ? 200 : 50 });
    const before = await readUsage(stage.server);
    const { pairs } = await worker.ask('pairs', { ...task, ms: pace === 'full' ? 500 : 100 });
    const { usec } = usageBetween(before, await readUsage(stage.server), peer);
    values[size] = usec / pairs;
  }
  return values;
}

/**
 * A crowd in two processes waits for the only permit, first while the permit is held (the upkeep of
 * waiters), then while it goes from waiter to waiter without a pause.
 */
async function growWaiters(stage: Stage, size: number, pace: Pace): Promise<Measured[]> {
  const [first, second] = await stage.pair(redsem);
  const task = { name: 'growth', limit: 1, hold: 0, think: 0, record: false };
  const names = ['growth'];
  if (size > 0) await first.ask('hold', { names, limit: 1, count: 1, ttl: 60_000, gapMs: 0 });
  await first.ask('contend', { ...task, callers: Math.max(1, Math.ceil(size / 2)) });
  await second.ask('contend', { ...task, callers: Math.floor(size / 2) });
  await sleep(pace === 'full' ? 700 : 200);
  const before = await readUsage(stage.server);
  await sleep(pace === 'full' ? 3000 : 300);
  const idle = usageBetween(before, await readUsage(stage.server), redsem);
  await first.ask('letGo');
  await sleep(200);
  const serverUs = await handOffCost(stage, [first, second], pace);
  // Without waiters there is no upkeep, only a caller that acquires and releases.
  const share = size === 0 ? 0 : idle.usec / idle.elapsedMs;
  return [
    { scenario: handOff, peer: redsem.id, values: { [size]: serverUs } },
    { scenario: upkeep, peer: redsem.id, values: { [size]: share } },
  ];
}

/**
 * The median over short windows. Processes renew their waiters by tries from time to time, so these
 * tries fall into few windows. They count as upkeep.
 */
async function handOffCost(
  stage: Stage,
  workers: readonly BenchWorker[],
  pace: Pace,
): Promise<number> {
  const tally = async (): Promise<number> => {
    const counts = await Promise.all(workers.map((worker) => worker.ask('tally')));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  const costs: number[] = [];
  for (let window = 0; window < (pace === 'full' ? 7 : 3); window += 1) {
    const [before, granted] = [await readUsage(stage.server), await tally()];
    await sleep(120);
    const [after, grantedThen] = [await readUsage(stage.server), await tally()];
    costs.push(usageBetween(before, after, redsem).usec / (grantedThen - granted));
  }
  return median(costs);
}

function verdicts(results: Results): Verdict[] {
  const growth = (scenario: string, sizes: readonly number[]) => {
    const cost = (size: number) => results.median(scenario, redsem.id, String(size));
    return sizes.map((size) => ({
      label: `×${numberText(size / 10)}`,
      value: ratio(cost(size), cost(10)),
      bound: Math.log10(size),
    }));
  };
  return [
    atMost(
      'server µs per pair grow no faster than log n, from 10 to 100,000 tickets',
      growth(beside, ticketSizes.slice(1)),
    ),
    atMost(
      'server µs per hand-off grow no faster than log n, from 10 to 10,000 waiters',
      growth(handOff, waiterSizes.slice(2)),
    ),
  ];
}

export const growth: Question = {
  name: 'growth',
  asks: 'Does it get slower with many tickets held and many requests waiting?',
  notes: [
    'One caller acquires and releases beside the given number of held tickets. The only permit goes round without a pause among the given number of waiters from two processes; a hand-off is one release, its grant and one new request.',
    'Server µs are the time inside commands (INFO commandstats). Only redsem has a queue; bottleneck cannot keep its permits, and redlock holds one permit a name.',
  ],
  rounds: 2,
  cases: (pace) => [
    ...casesOf(compared, beside, (stage, peer) => growTickets(stage, peer, pace)),
    ...(pace === 'full' ? waiterSizes : waiterSizes.slice(0, 2)).map((size) => ({
      label: `${size} waiters: redsem`,
      run: (stage: Stage) => growWaiters(stage, size, pace),
    })),
  ],
  tables: tablesOf(compared, columns),
  verdicts,
};
