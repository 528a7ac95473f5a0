import type { Stage } from '../measure/stage.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import { embedded, type Peer, type PeerId, peers } from '../peers/catalog.js';
import { barChart, type Chart } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import { scenarioTable } from '../report/table.js';
import { atLeast, atMost, eitherClient, ratio, type Verdict } from '../report/verdict.js';
import type { Pace, Question } from './question.js';

interface Scenario {
  readonly title: string;
  readonly loops: number;
  /** One semaphore for all loops, or one for each. */
  readonly shared: boolean;
}

const alone = '1 caller';
const crowd = '1000 callers, one semaphore';
const each100 = '100 callers, 100 semaphores';
const each1000 = '1000 callers, 1000 semaphores';

const scenarios: readonly Scenario[] = [
  { title: alone, loops: 1, shared: true },
  { title: '100 callers, one semaphore', loops: 100, shared: true },
  { title: each100, loops: 100, shared: false },
  { title: crowd, loops: 1000, shared: true },
  { title: each1000, loops: 1000, shared: false },
];

const columns = [
  { head: 'p50 µs', figure: 'p50Us' },
  { head: 'p99 µs', figure: 'p99Us' },
  { head: 'pairs/s', figure: 'pairsPerSecond' },
  { head: 'server µs/pair in commands', figure: 'serverUs' },
  { head: 'server CPU µs/pair', figure: 'serverCpuUs' },
  { head: 'client CPU µs/pair', figure: 'clientUs' },
];

const compared = [...peers, embedded];

/** What runs in a scenario: a floor does not know semaphores, so one of its rows says it all. */
function runs(peer: Peer, { loops, shared }: Scenario): boolean {
  if (peer === embedded) return loops === 1000;
  if (!shared) return peer.kind !== 'floor';
  return peer.maxLimit >= loops;
}

async function measure(
  stage: Stage,
  peer: Peer,
  scenario: Scenario,
  pace: Pace,
): Promise<Measured[]> {
  const { loops, shared, title } = scenario;
  const worker = await stage.worker(peer);
  const names = Array.from({ length: shared ? 1 : loops }, (_, i) => `bench-${i}`);
  const task = { names, limit: shared ? loops : 1, loops };
  await worker.ask('pairs', { ...task, ms: pace === 'full' ? 600 : 100 });
  const before = await readUsage(stage.server);
  const done = await worker.ask('pairs', { ...task, ms: pace === 'full' ? 800 : 300 });
  const usage = usageBetween(before, await readUsage(stage.server), peer);
  const ofClient = {
    p50Us: done.p50Us,
    p99Us: done.p99Us,
    pairsPerSecond: (done.pairs / done.elapsedMs) * 1000,
    clientUs: done.cpuUs / done.pairs,
  };
  const ofServer = {
    serverUs: usage.usec / done.pairs,
    serverCpuUs: (usage.cpuMs * 1000) / done.pairs,
  };
  const values = peer === embedded ? ofClient : { ...ofClient, ...ofServer };
  return [{ scenario: title, peer: peer.id, values }];
}

function verdicts(results: Results): Verdict[] {
  const figure = (scenario: string, peer: PeerId, name: string): number | undefined =>
    results.median(scenario, peer, name);
  const toPeer = (scenario: string, name: string) => (redsem: PeerId) =>
    ratio(figure(scenario, redsem, name), figure(scenario, 'redis-semaphore', name));
  const toFloor = (redsem: PeerId): number | undefined => {
    const floor = redsem === 'redsem-ioredis' ? 'floor-ioredis' : 'floor-node-redis';
    return ratio(figure(alone, redsem, 'p50Us'), figure(alone, floor, 'p50Us'));
  };
  return [
    atLeast(
      `${crowd}: pairs/s, as a multiple of redis-semaphore's`,
      eitherClient(3.2, toPeer(crowd, 'pairsPerSecond')),
    ),
    atMost(
      `${crowd}: server CPU µs per pair, as a share of redis-semaphore's`,
      eitherClient(0.4, toPeer(crowd, 'serverCpuUs')),
    ),
    atMost(
      `${crowd}: server µs in commands per pair, as a share of redis-semaphore's`,
      eitherClient(0.4, toPeer(crowd, 'serverUs')),
    ),
    atLeast(
      `${each1000}: pairs/s, as a multiple of redis-semaphore's`,
      eitherClient(1.3, toPeer(each1000, 'pairsPerSecond')),
    ),
    atMost(
      `${each1000}: client CPU µs per pair, as a share of redis-semaphore's`,
      eitherClient(0.45, toPeer(each1000, 'clientUs')),
    ),
    atMost(
      `${each1000}: server CPU µs per pair, as a share of redis-semaphore's`,
      eitherClient(0.9, toPeer(each1000, 'serverCpuUs')),
    ),
    atLeast(
      `${each100}: pairs/s, as a multiple of redis-semaphore's`,
      eitherClient(1, toPeer(each100, 'pairsPerSecond')),
    ),
    atMost(
      '1 caller: p50, as a multiple of the floor through the same client',
      eitherClient(1.25, toFloor),
    ),
  ];
}

function charts(results: Results): Chart[] {
  return [
    barChart({
      file: 'uncontended-latency',
      title: 'Acquire and release, one caller, nobody else',
      subtitle: 'microseconds for the pair, log scale; less is better',
      results,
      bars: peers.map((peer) => ({ peer, scenario: alone })),
      figures: [
        { figure: 'p50Us', label: 'p50' },
        { figure: 'p99Us', label: 'p99' },
      ],
      logarithmic: true,
    }),
    barChart({
      file: 'uncontended-throughput',
      title: '1000 callers in one process, one semaphore with room for all',
      subtitle: 'pairs of acquire and release per second; more is better',
      results,
      bars: peers.map((peer) => ({ peer, scenario: crowd })),
      figures: [{ figure: 'pairsPerSecond', label: '' }],
    }),
    barChart({
      file: 'uncontended-many',
      title: '1000 callers in one process, a semaphore for each',
      subtitle: 'pairs of acquire and release per second; more is better',
      results,
      bars: peers.map((peer) => ({ peer, scenario: each1000 })),
      figures: [{ figure: 'pairsPerSecond', label: '' }],
    }),
  ];
}

export const uncontended: Question = {
  name: 'uncontended',
  asks: 'What does a pair of acquire and release cost when permits are free?',
  notes: [
    'One process, the given number of loops at once, each acquiring and releasing without a pause. The limit is the number of callers, or 1 where each has its own semaphore.',
    'The lone caller is measured twice a round.',
    'Server µs in commands are INFO commandstats; server CPU µs are all that the server spent, reading, parsing and writing included; client CPU µs are those of the process.',
    'In memory there is no server: what a pair costs redsem itself.',
    'Redlock holds one permit a name, so it has no row where callers share a semaphore.',
  ],
  rounds: 3,
  cases: (pace) => {
    const all = scenarios.filter(
      ({ loops, shared }) => pace === 'full' || (shared ? loops <= 100 : loops === 1000),
    );
    // Twice a round: a lone caller's times jump with where the system places the two processes.
    const again = pace === 'full' ? scenarios.filter(({ title }) => title === alone) : [];
    return [...all, ...again].flatMap((scenario) =>
      compared
        .filter((peer) => runs(peer, scenario))
        .map((peer) => ({
          label: `${scenario.title}: ${peer.label}`,
          run: (stage) => measure(stage, peer, scenario, pace),
        })),
    );
  },
  tables: (results) =>
    results.scenarios().map((title) => scenarioTable(results, title, compared, columns)),
  verdicts,
  charts,
};
