import { setTimeout as sleep } from 'node:timers/promises';

import { contentionFigures } from '../measure/contention-figures.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, type PeerId, semaphores } from '../peers/catalog.js';
import type { Chart, Panel } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import { atLeast, atMost, eitherClient, ratio, type Verdict } from '../report/verdict.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

type Scenario = ReturnType<typeof scenarioOf>;

/** Milliseconds, of which `measured` are counted in one round. */
function scenarioOf(
  processes: number,
  callers: number,
  [limit, hold, think, measured]: readonly [number, number, number, number],
) {
  const pause = think === 0 ? 'think 0' : `think ${think} ms`;
  const title = `${processes} processes × ${callers} callers, limit ${limit}, hold ${hold} ms, ${pause}`;
  return { title, processes, callers, limit, hold, think, measured };
}

const crowd = scenarioOf(4, 25, [4, 20, 20, 4000]);
const single = scenarioOf(4, 2, [1, 10, 10, 2500]);
const greedy = scenarioOf(3, 10, [4, 5, 0, 2500]);
/** For quick runs: fewer processes start sooner. */
const smoke = scenarioOf(2, 2, [1, 10, 10, 2500]);
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
): Promise<Measured['values']> {
  const { processes, callers, limit, hold, think } = scenario;
  const workers = await stage.workers(peer, processes);
  const task = { name: 'contended', limit, callers, hold, think, record: true };
  await Promise.all(workers.map((worker) => worker.ask('contend', task)));
  await sleep(pace === 'full' ? 1000 : 300);
  const before = await readUsage(stage.server);
  await sleep(pace === 'full' ? scenario.measured : 700);
  const after = await readUsage(stage.server);
  const records = await Promise.all(workers.map((worker) => worker.ask('records')));
  const window = { from: before.at, to: after.at };
  const all = processes * callers;
  const { acquisitions, ...figures } = contentionFigures(records, window, limit, all);
  if (acquisitions === 0) throw new Error('no caller got a permit');
  const usage = usageBetween(before, after, peer);
  return {
    ...figures,
    calls: usage.calls / acquisitions,
    serverUs: usage.usec / acquisitions,
    serverCpuUs: (usage.cpuMs * 1000) / acquisitions,
    perSecond: (acquisitions / usage.elapsedMs) * 1000,
  };
}

function verdicts(results: Results): Verdict[] {
  const value = ({ title }: Scenario, peer: PeerId, figure: string): number | undefined =>
    results.median(title, peer, figure);
  const of = (figure: string) => (peer: PeerId) => value(crowd, peer, figure);
  const waitRatio = (peer: PeerId): number | undefined =>
    ratio(value(crowd, peer, 'waitP99'), value(crowd, peer, 'waitP50'));
  const deadTime = (scenario: Scenario, other: PeerId) => (peer: PeerId) =>
    ratio(value(scenario, peer, 'deadMs'), value(scenario, other, 'deadMs'));
  return [
    atMost('4×25: calls per acquisition', eitherClient(2.1, of('calls'))),
    atMost('4×25: wait p99 / p50', eitherClient(1.1, waitRatio)),
    atLeast('4×25: Jain index', eitherClient(0.995, of('jain'))),
    atMost(
      "4×25: dead time per hand-off, as a share of polling's",
      eitherClient(1 / 3, deadTime(crowd, 'polling')),
    ),
    atMost(
      "4×25: dead time per hand-off, as a share of redis-semaphore's",
      eitherClient(1, deadTime(crowd, 'redis-semaphore')),
    ),
    atMost(
      "4×2, limit 1: dead time per hand-off, as a share of redis-semaphore's",
      eitherClient(0.4, deadTime(single, 'redis-semaphore')),
    ),
    ...scenarios.map((scenario) => neverOverLimit(results, scenario)),
  ];
}

function neverOverLimit(results: Results, { title, processes, callers, limit }: Scenario): Verdict {
  const parts = semaphores.flatMap(({ id, label }) => {
    const value = results.spread(title, id, 'peakHolders')?.[2];
    return value === undefined ? [] : [{ label, value, bound: limit }];
  });
  const bar = `${processes}×${callers}: never more holders than the limit`;
  return parts.length === 0 ? { bar, reached: 'not measured', met: undefined } : atMost(bar, parts);
}

function chart(results: Results): Chart {
  const panel = (figure: string, title: string): Panel => ({
    title,
    bars: semaphores.map(({ id, label, kind }) => {
      const spread = results.spread(crowd.title, id, figure);
      return { label, spread, isOwn: kind === 'redsem' };
    }),
  });
  return {
    file: 'contended-summary',
    title: '100 callers in 4 processes wait for 4 permits',
    subtitle: 'Each holds a permit for 20 ms. Less is better.',
    panels: [
      panel('waitP99', 'Wait, ms: 99 % of the callers have a permit by then'),
      panel('calls', 'Redis calls for each acquire and release together'),
    ],
  };
}

export const contended: Question = {
  name: 'contended',
  asks: 'What does waiting cost, how fast is a permit handed on, and is it fair?',
  notes: [
    'Dead time: how long a permit lay idle between two holders while a caller waited. A hold lasts from the moment its holder has the permit to the moment it begins to give it back, on the one monotonic clock that all processes of a machine share.',
    'Calls are what clients sent: script calls, and the ZREM with which redis-semaphore releases. The PUBLISH that a bottleneck client sends by itself is left out (the statistics do not distinguish it from those in its scripts), which is in its favour.',
    'Waits that had not ended when the measuring did are left out, which favours peers that let some callers starve.',
    'Server µs are per acquisition: the time inside commands (INFO commandstats), and all CPU time of the server, reading, parsing and writing included.',
    'The Jain index is 1 when all callers get the same number of permits.',
  ],
  rounds: 3,
  cases: (pace) =>
    (pace === 'full' ? scenarios : [smoke]).flatMap((scenario) =>
      casesOf(
        semaphores.filter(({ maxLimit }) => maxLimit >= scenario.limit),
        scenario.title,
        (stage, peer) => measure(stage, peer, scenario, pace),
      ),
    ),
  tables: tablesOf(semaphores, columns),
  verdicts,
  charts: (results) => [chart(results)],
};
