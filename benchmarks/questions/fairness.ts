import { setTimeout as sleep } from 'node:timers/promises';

import type { Stage } from '../measure/stage.js';
import { type Peer, type PeerId, semaphores } from '../peers/catalog.js';
import type { Chart, Panel } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import { atMost, eitherClient, type Verdict } from '../report/verdict.js';
import { machineTime } from '../../verification/history/machine-time.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

/** Tenants with a process each, and different numbers of callers. */
const tenants = [
  { tenant: 'A', callers: 60 },
  { tenant: 'B', callers: 25 },
  { tenant: 'C', callers: 15 },
] as const;

interface Scenario {
  readonly title: string;
  /** A weight for each tenant; undefined: no groups, and all have a right to the same share. */
  readonly weights?: readonly [number, number, number];
}

const setting = 'limit 4, hold 5 ms; 60, 25 and 15 callers of three tenants';
const byArrival: Scenario = { title: `in order of arrival: ${setting}` };
const equal: Scenario = { title: `a group for each tenant: ${setting}`, weights: [1, 1, 1] };
const weighted: Scenario = { title: `groups of weight 1, 2 and 4: ${setting}`, weights: [1, 2, 4] };
const scenarios = [byArrival, equal, weighted];

const limit = 4;
/** The chart has the shares of this peer. */
const drawn: PeerId = 'redsem-node-redis';

const columns = [
  { head: 'share of A', figure: 'A' },
  { head: 'share of B', figure: 'B' },
  { head: 'share of C', figure: 'C' },
  { head: 'farthest from its right', figure: 'error' },
  { head: 'grants/s', figure: 'perSecond' },
];

function able({ weights }: Scenario): readonly Peer[] {
  const others = semaphores.filter(({ maxLimit }) => maxLimit >= limit);
  return weights === undefined ? others : others.filter(({ kind }) => kind === 'redsem');
}

async function measure(
  stage: Stage,
  peer: Peer,
  { weights }: Scenario,
  pace: Pace,
): Promise<Measured['values']> {
  const workers = await stage.workers(peer, tenants.length);
  const task = { name: 'fairness', limit, hold: 5, think: 0, record: true };
  await Promise.all(
    tenants.map(async ({ tenant, callers }, i) => {
      const weight = weights?.[i];
      const wanted = weight === undefined ? undefined : { group: tenant, weight };
      await workers[i]?.ask('contend', { ...task, callers, ...(wanted && { wanted }) });
    }),
  );
  await sleep(pace === 'full' ? 1000 : 200);
  const from = machineTime();
  await sleep(pace === 'full' ? 4000 : 500);
  const to = machineTime();
  const records = await Promise.all(workers.map((worker) => worker.ask('records')));
  const counts = records.map(
    (list) => list.filter(({ granted }) => granted >= from && granted < to).length,
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) throw new Error('no caller got a permit');
  const got = counts.map((count) => count / total);
  const rights = weights ?? [1, 1, 1];
  const all = rights.reduce((sum, right) => sum + right, 0);
  const ofTenants = Object.fromEntries(tenants.map(({ tenant }, i) => [tenant, got[i] ?? 0]));
  return {
    error: Math.max(...got.map((share, i) => Math.abs((share * all) / (rights[i] ?? 0) - 1))),
    perSecond: (total / (to - from)) * 1000,
    ...ofTenants,
  };
}

function verdictOf(results: Results, { title }: Scenario, what: string): Verdict {
  return atMost(
    `${what}: farthest that a tenant's share is from its right`,
    eitherClient(0.05, (peer) => results.median(title, peer, 'error')),
  );
}

function chart(results: Results): Chart {
  const panel = ({ title }: Scenario, name: string): Panel => ({
    title: name,
    bars: tenants.map(({ tenant, callers }) => {
      const spread = results.spread(title, drawn, tenant);
      return { label: `${tenant}: ${callers} callers`, spread, isOwn: true };
    }),
  });
  return {
    file: 'fairness-shares',
    title: 'Shares of the grants, of three tenants',
    subtitle: `${setting}; redsem (node-redis)`,
    panels: [panel(byArrival, 'Without groups'), panel(weighted, 'Groups of weight 1, 2 and 4')],
  };
}

export const fairness: Question = {
  name: 'fairness',
  asks: 'Which part of a limit does each of three tenants get, when one of them asks for far more?',
  notes: [
    'Each tenant is a process, and all of its callers always want a permit. Without groups a tenant gets what its number of callers gives it; with groups what its weight gives it. Farthest from its right: of the three tenants, the largest relative distance from a third each, or from 1/7, 2/7 and 4/7.',
    'Only redsem has groups within one limit. Bottleneck has a queue in each process and shares equally between processes: here that is between tenants, but tenants of one process wait in order of arrival, and there are no weights. Groups of BullMQ are in its paid edition.',
  ],
  rounds: 2,
  cases: (pace) =>
    scenarios.flatMap((scenario) =>
      casesOf(able(scenario), scenario.title, (stage, peer) =>
        measure(stage, peer, scenario, pace),
      ),
    ),
  tables: tablesOf(semaphores, columns),
  verdicts: (results) => [
    verdictOf(results, equal, 'equal weights'),
    verdictOf(results, weighted, 'weights 1:2:4'),
  ],
  charts: (results) => [chart(results)],
};
