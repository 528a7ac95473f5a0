import type { BenchWorker } from '../measure/bench-worker.js';
import { median } from '../measure/quantile.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, telemetryPeers } from '../peers/catalog.js';
import type { Measured, Results } from '../report/results.js';
import { atLeast, type Verdict } from '../report/verdict.js';
import type { PairsResult, PairsTask } from '../workers/pairs.js';
import { type Pace, type Question, tablesOf } from './question.js';

const scenarios = [
  { title: '100 callers', loops: 100, limit: 100 },
  { title: '1000 callers', loops: 1000, limit: 1000 },
  { title: '100 callers that wait for 10 permits', loops: 100, limit: 10 },
];

const columns = [
  { head: 'pairs/s', figure: 'pairsPerSecond' },
  { head: 'client CPU µs/pair', figure: 'clientUs' },
  { head: 'p50 µs', figure: 'p50Us' },
  { head: 'p99 µs', figure: 'p99Us' },
];

/**
 * All rows run on one server, in short turns, with new processes in each round: processes and
 * seconds differ from each other by more than the rows do.
 */
async function measure(
  stage: Stage,
  { title, loops, limit }: (typeof scenarios)[number],
  pace: Pace,
): Promise<Measured[]> {
  const task: PairsTask = { names: ['bench'], limit, loops, ms: pace === 'full' ? 200 : 50 };
  const contestants: { peer: Peer; worker: BenchWorker; parts: PairsResult[] }[] = [];
  for (const peer of telemetryPeers) {
    const worker = await stage.worker(peer);
    await worker.ask('pairs', { ...task, ms: pace === 'full' ? 800 : 100 });
    contestants.push({ peer, worker, parts: [] });
  }
  // Each row comes first, in the middle and last equally often, so that the order does not matter.
  const turns = pace === 'full' ? [0, 1, 2] : [0];
  for (const ordered of turns.flatMap((i) => turned(contestants, i))) {
    for (const { worker, parts } of ordered) parts.push(await worker.ask('pairs', task));
  }
  const [bare] = contestants.map(({ parts }) => pairsPerSecond(parts));
  return contestants.map(({ peer, parts }) => ({
    scenario: title,
    peer: peer.id,
    values: { ...valuesOf(parts), share: pairsPerSecond(parts) / (bare ?? NaN) },
  }));
}

function sumOf(parts: readonly PairsResult[], key: keyof PairsResult): number {
  return parts.reduce((total, part) => total + part[key], 0);
}

function pairsPerSecond(parts: readonly PairsResult[]): number {
  return (sumOf(parts, 'pairs') / sumOf(parts, 'elapsedMs')) * 1000;
}

function turned<T>(items: readonly T[], by: number): T[][] {
  const list = [...items.slice(by), ...items.slice(0, by)];
  return [list, list.toReversed()];
}

function valuesOf(parts: readonly PairsResult[]): Measured['values'] {
  return {
    pairsPerSecond: pairsPerSecond(parts),
    clientUs: sumOf(parts, 'cpuUs') / sumOf(parts, 'pairs'),
    p50Us: median(parts.map(({ p50Us }) => p50Us)),
    p99Us: median(parts.map(({ p99Us }) => p99Us)),
  };
}

function verdicts(results: Results): Verdict[] {
  const parts = scenarios.map(({ title }) => ({
    label: title,
    value: results.median(title, 'telemetry-unheard', 'share'),
    bound: 0.97,
  }));
  return [
    atLeast(
      'without a subscriber: pairs/s, as a share of those of the build without telemetry',
      parts,
    ),
  ];
}

export const telemetry: Question = {
  name: 'telemetry',
  asks: 'What do the diagnostics channels cost, with and without a listener?',
  notes: [
    "One process through node-redis, the given number of loops at once, each acquiring and releasing without a pause. Where they outnumber the permits, they wait for one another's.",
    'Telemetry left out: each place of redsem that asks for a listener has a constant instead, put in when the program is bundled. Nothing can cost less.',
    'In each round the three take turns on one server, in each order once. The bar is the median, over the rounds, of the ratio within a round.',
    'All channels heard: one subscriber to each, which counts messages and does nothing else.',
  ],
  rounds: 9,
  cases: (pace) =>
    scenarios.map((scenario) => ({
      label: scenario.title,
      run: (stage) => measure(stage, scenario, pace),
    })),
  tables: tablesOf(telemetryPeers, columns),
  verdicts,
};
