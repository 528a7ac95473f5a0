import { setTimeout as sleep } from 'node:timers/promises';

import { contentionFigures } from '../measure/contention-figures.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, type PeerId, semaphores } from '../peers/catalog.js';
import { barChart, type Chart } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import { scenarioTable } from '../report/table.js';
import { atLeast, atMost, below, eitherClient, ratio, type Verdict } from '../report/verdict.js';
import type { Pace, Question } from './question.js';

interface Scenario {
  readonly title: string;
  readonly processes: number;
  readonly callers: number;
  readonly limit: number;
  readonly hold: number;
  readonly think: number;
  /** Milliseconds measured in one round. */
  readonly measured: number;
}

const crowd: Scenario = {
  title: '4 processes × 25 callers, limit 4, hold 20 ms, think 20 ms',
  processes: 4,
  callers: 25,
  limit: 4,
  hold: 20,
  think: 20,
  measured: 4000,
};
const single: Scenario = {
  title: '4 processes × 2 callers, limit 1, hold 10 ms, think 10 ms',
  processes: 4,
  callers: 2,
  limit: 1,
  hold: 10,
  think: 10,
  measured: 2500,
};
const greedy: Scenario = {
  title: '3 processes × 10 callers, limit 4, hold 5 ms, think 0',
  processes: 3,
  callers: 10,
  limit: 4,
  hold: 5,
  think: 0,
  measured: 2500,
};
/** For quick runs: fewer processes start sooner. */
const smoke: Scenario = {
  ...single,
  title: '2 processes × 2 callers, limit 1, hold 10 ms, think 10 ms',
  processes: 2,
};
const scenarios = [crowd, single, greedy];

const columns = [
  { head: 'calls per acquisition', figure: 'calls' },
  { head: 'dead ms per hand-off', figure: 'deadMs' },
  { head: 'wait p50 ms', figure: 'waitP50' },
  { head: 'p99', figure: 'waitP99' },
  { head: 'max', figure: 'waitMax' },
  { head: 'Jain index', figure: 'jain' },
  { head: 'server µs in commands', figure: 'serverUs' },
  { head: 'server CPU µs', figure: 'serverCpuUs' },
  { head: 'acquisitions/s', figure: 'perSecond' },
  { head: 'peak holders', figure: 'peakHolders' },
];

async function measure(
  stage: Stage,
  peer: Peer,
  scenario: Scenario,
  pace: Pace,
): Promise<Measured[]> {
  const { title, processes, callers, limit, hold, think } = scenario;
  const workers = await stage.workers(peer, processes);
  const task = { name: 'contended', limit, callers, hold, think, record: true };
  await Promise.all(workers.map((worker) => worker.ask('contend', task)));
  await sleep(pace === 'full' ? 1000 : 300);
  const before = await readUsage(stage.server);
  await sleep(pace === 'full' ? scenario.measured : 700);
  const after = await readUsage(stage.server);
  const records = await Promise.all(workers.map((worker) => worker.ask('records', null)));
  const window = { from: before.at, to: after.at };
  const { acquisitions, ...figures } = contentionFigures(
    records,
    window,
    limit,
    processes * callers,
  );
  if (acquisitions === 0) throw new Error('nobody got a permit');
  const usage = usageBetween(before, after, peer);
  const values = {
    ...figures,
    calls: usage.calls / acquisitions,
    serverUs: usage.usec / acquisitions,
    serverCpuUs: (usage.cpuMs * 1000) / acquisitions,
    perSecond: (acquisitions / usage.elapsedMs) * 1000,
  };
  return [{ scenario: title, peer: peer.id, values }];
}

function verdicts(results: Results): Verdict[] {
  const value = ({ title }: Scenario, peer: PeerId, figure: string): number | undefined =>
    results.median(title, peer, figure);
  const share = (scenario: Scenario, peer: PeerId, other: PeerId): number | undefined =>
    ratio(value(scenario, peer, 'deadMs'), value(scenario, other, 'deadMs'));
  const waitRatio = (peer: PeerId): number | undefined =>
    ratio(value(crowd, peer, 'waitP99'), value(crowd, peer, 'waitP50'));
  return [
    atMost(
      '4×25: calls per acquisition',
      eitherClient(2.1, (peer) => value(crowd, peer, 'calls')),
    ),
    atMost('4×25: wait p99 / p50', eitherClient(1.1, waitRatio)),
    atLeast(
      '4×25: Jain index',
      eitherClient(0.995, (peer) => value(crowd, peer, 'jain')),
    ),
    atMost(
      "4×25: dead time per hand-off, as a share of polling's",
      eitherClient(1 / 3, (peer) => share(crowd, peer, 'polling')),
    ),
    below(
      "4×25: dead time per hand-off, as a share of redis-semaphore's",
      eitherClient(1, (peer) => share(crowd, peer, 'redis-semaphore')),
    ),
    atMost(
      "4×2, limit 1: dead time per hand-off, as a share of redis-semaphore's",
      eitherClient(0.4, (peer) => share(single, peer, 'redis-semaphore')),
    ),
    ...scenarios.map((scenario) => neverOverLimit(results, scenario)),
  ];
}

function neverOverLimit(results: Results, { title, processes, callers, limit }: Scenario): Verdict {
  const parts = semaphores.flatMap(({ id, label }) => {
    const value = results.spread(title, id, 'peakHolders')?.high;
    return value === undefined ? [] : [{ label, value, bound: limit }];
  });
  const bar = `${processes}×${callers}: never more holders than the limit`;
  return parts.length === 0 ? { bar, reached: 'not measured', met: undefined } : atMost(bar, parts);
}

function barsOf({ title }: Scenario): { peer: Peer; scenario: string }[] {
  return semaphores.map((peer) => ({ peer, scenario: title }));
}

function charts(results: Results): Chart[] {
  return [
    barChart({
      file: 'contended-calls',
      title: 'Script calls and commands per acquisition',
      subtitle: '4 processes × 25 callers, limit 4; log scale, less is better',
      results,
      bars: barsOf(crowd),
      figures: [{ figure: 'calls', label: '' }],
      logarithmic: true,
    }),
    barChart({
      file: 'contended-wait',
      title: 'Waiting time',
      subtitle:
        '4 processes × 25 callers, limit 4; ms, log scale; fair is where p50 and p99 are close',
      results,
      bars: barsOf(crowd),
      figures: [
        { figure: 'waitP50', label: 'p50' },
        { figure: 'waitP99', label: 'p99' },
      ],
      logarithmic: true,
    }),
    barChart({
      file: 'contended-summary',
      title:
        'What waiting costs: ms until the slowest 1 % have a permit, and Redis calls per acquisition',
      subtitle: '4 processes × 25 callers, limit 4, hold 20 ms; log scale, less is better',
      results,
      bars: barsOf(crowd),
      figures: [
        { figure: 'waitP99', label: 'p99 wait, ms:' },
        { figure: 'calls', label: 'calls:' },
      ],
      logarithmic: true,
    }),
    barChart({
      file: 'contended-dead-time',
      title: 'Dead time of a permit between two holders',
      subtitle: '4 processes × 25 callers, limit 4; ms, less is better',
      results,
      bars: barsOf(crowd),
      figures: [{ figure: 'deadMs', label: '' }],
    }),
    barChart({
      file: 'contended-dead-time-limit-1',
      title: 'Dead time of the only permit between two holders',
      subtitle: '4 processes × 2 callers, limit 1; ms, less is better',
      results,
      bars: barsOf(single),
      figures: [{ figure: 'deadMs', label: '' }],
    }),
  ];
}

export const contended: Question = {
  name: 'contended',
  asks: 'What does waiting cost, how fast is a permit handed on, and is it fair?',
  notes: [
    'Dead time: how long a permit lay idle between two holders while somebody waited. A hold lasts from the moment its holder has the permit to the moment it begins to give it back, on the one monotonic clock that all processes of a machine share.',
    'Calls are what clients sent: script calls, and the ZREM with which redis-semaphore releases. The PUBLISH that a bottleneck client sends by itself is left out (the statistics do not distinguish it from those in its scripts), which is in its favour.',
    'Waits that had not ended when the measuring did are left out, which is in favour of those that let some callers starve.',
    'Server µs are per acquisition: the time inside commands (INFO commandstats), and all CPU time of the server, reading, parsing and writing included.',
    'The Jain index is 1 when all callers get the same number of permits.',
  ],
  rounds: 3,
  cases: (pace) =>
    (pace === 'full' ? scenarios : [smoke]).flatMap((scenario) =>
      semaphores
        .filter(({ maxLimit }) => maxLimit >= scenario.limit)
        .map((peer) => ({
          label: `${scenario.processes}×${scenario.callers}: ${peer.label}`,
          run: (stage) => measure(stage, peer, scenario, pace),
        })),
    ),
  tables: (results) =>
    results.scenarios().map((title) => scenarioTable(results, title, semaphores, columns)),
  verdicts,
  charts,
};
