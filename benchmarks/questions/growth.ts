import { setTimeout as sleep } from 'node:timers/promises';

import type { BenchWorker } from '../measure/bench-worker.js';
import { median } from '../measure/quantile.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, type PeerId, peerOf, semaphores } from '../peers/catalog.js';
import { numberText } from '../report/number-text.js';
import type { Measured, Results } from '../report/results.js';
import { spreadText, type Table } from '../report/table.js';
import { atMost, ratio, type Verdict } from '../report/verdict.js';
import type { Pace, Question } from './question.js';

const ticketSizes = [10, 100, 1000, 10_000, 100_000];
const waiterSizes = [0, 10, 100, 1000, 10_000];
const ticketScenario = (size: number): string => `${size} tickets`;
const waiterScenario = (size: number): string => `${size} waiters`;

/** Server time does not depend on the client, so one row of redsem is enough. */
const redsem = peerOf('redsem-ioredis');
const compared = semaphores.filter(
  ({ id, extends: keeps, maxLimit }) => keeps && maxLimit > 1 && id !== 'redsem-node-redis',
);

/** Holds more and more tickets; at each size one caller acquires and releases beside them. */
async function growTickets(stage: Stage, peer: Peer, pace: Pace): Promise<Measured[]> {
  const worker = await stage.worker(peer);
  const sizes = pace === 'full' ? ticketSizes : ticketSizes.slice(0, 3);
  const limit = 200_000;
  const task = { names: ['growth'], limit, loops: 1 };
  const measured: Measured[] = [];
  let size = 0;
  for (const wanted of sizes) {
    await worker.ask('hold', { ...task, count: wanted - size, ttl: 600_000, gapMs: 0 });
    size = wanted;
    await worker.ask('pairs', { ...task, ms: pace === 'full' ? 200 : 50 });
    const before = await readUsage(stage.server);
    const { pairs } = await worker.ask('pairs', { ...task, ms: pace === 'full' ? 500 : 100 });
    const { usec } = usageBetween(before, await readUsage(stage.server), peer);
    const values = { serverUs: usec / pairs };
    measured.push({ scenario: ticketScenario(size), peer: peer.id, values });
  }
  return measured;
}

/**
 * A crowd in two processes waits for the only permit, first while the permit is held (the upkeep of
 * waiters), then while it goes from waiter to waiter without a pause.
 */
async function growWaiters(stage: Stage, size: number, pace: Pace): Promise<Measured[]> {
  const [first, second] = await stage.workers(redsem, 2);
  if (first === undefined || second === undefined) throw new Error('two workers wanted');
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
  const upkeep = size === 0 ? 0 : idle.usec / idle.elapsedMs;
  const values = { serverUs, upkeep };
  return [{ scenario: waiterScenario(size), peer: redsem.id, values }];
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

function ticketTable(results: Results): Table {
  const rows = compared.map((peer) => {
    const base = results.median(ticketScenario(10), peer.id, 'serverUs');
    return [
      peer.label,
      ...ticketSizes.map((size) => cell(results, ticketScenario(size), peer.id, base)),
    ];
  });
  const head = ['', ...ticketSizes.map((size) => `${numberText(size)} held`)];
  return { title: 'Server µs per acquire and release, and × the cost with 10 tickets', head, rows };
}

function waiterTable(results: Results): Table {
  const base = results.median(waiterScenario(10), redsem.id, 'serverUs');
  const upkeep = waiterSizes.map((size) =>
    spreadText(results.spread(waiterScenario(size), redsem.id, 'upkeep')),
  );
  const cost = waiterSizes.map((size) => cell(results, waiterScenario(size), redsem.id, base));
  return {
    title: 'redsem: server µs per hand-off, and × the cost with 10 waiters',
    head: ['', ...waiterSizes.map((size) => `${numberText(size)} waiting`)],
    rows: [
      ['acquire, grant and release', ...cost],
      ['keeping the waiters alive, server ms per second', ...upkeep],
    ],
  };
}

function cell(results: Results, scenario: string, peer: PeerId, base: number | undefined): string {
  const spread = results.spread(scenario, peer, 'serverUs');
  const times = ratio(spread?.median, base);
  return times === undefined ? spreadText(spread) : `${spreadText(spread)} ×${numberText(times)}`;
}

function verdicts(results: Results): Verdict[] {
  const growth = (scenarioOf: (size: number) => string, sizes: readonly number[]) => {
    const cost = (size: number) => results.median(scenarioOf(size), redsem.id, 'serverUs');
    return sizes.map((size) => ({
      label: `×${numberText(size / 10)}`,
      value: ratio(cost(size), cost(10)),
      bound: Math.log10(size),
    }));
  };
  return [
    atMost(
      'server µs per pair grow no faster than log n, from 10 to 100,000 tickets',
      growth(ticketScenario, ticketSizes.slice(1)),
    ),
    atMost(
      'server µs per hand-off grow no faster than log n, from 10 to 10,000 waiters',
      growth(waiterScenario, waiterSizes.slice(2)),
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
    ...compared.map((peer) => ({
      label: `tickets: ${peer.label}`,
      run: (stage: Stage) => growTickets(stage, peer, pace),
    })),
    ...(pace === 'full' ? waiterSizes : waiterSizes.slice(0, 2)).map((size) => ({
      label: `${size} waiters: redsem`,
      run: (stage: Stage) => growWaiters(stage, size, pace),
    })),
  ],
  tables: (results) => [ticketTable(results), waiterTable(results)],
  verdicts,
};
