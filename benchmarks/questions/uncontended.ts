import type { Stage } from '../measure/stage.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import { embedded, type Peer, type PeerId, peers } from '../peers/catalog.js';
import type { Measured, Results } from '../report/results.js';
import { atLeast, atMost, eitherClient, ratio, type Verdict } from '../report/verdict.js';
import { casesOf, type Pace, type Question, tablesOf } from './question.js';

interface Scenario {
  readonly title: string;
  readonly loops: number;
  /** All loops share a semaphore, or each loop has its own. */
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

/**
 * For how many milliseconds a case runs before it is measured. V8 optimises until some 6000 pairs
 * of a lone caller.
 */
const WARM_UP: Record<Pace, (loops: number) => number> = {
  full: (loops) => (loops === 1 ? 6000 : 2000),
  quick: () => 100,
};

/** The peers of a scenario. A floor has no semaphores, so a single row of it is enough. */
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
): Promise<Measured['values']> {
  const { loops, shared } = scenario;
  const worker = await stage.worker(peer);
  const names = Array.from({ length: shared ? 1 : loops }, (_, i) => `bench-${i}`);
  const task = { names, limit: shared ? loops : 1, loops };
  await worker.ask('pairs', { ...task, ms: WARM_UP[pace](loops) });
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
  return peer === embedded ? ofClient : { ...ofClient, ...ofServer };
}

function verdicts(results: Results): Verdict[] {
  const toPeer = (scenario: string, figure: string) => (redsem: PeerId) =>
    ratio(
      results.median(scenario, redsem, figure),
      results.median(scenario, 'redis-semaphore', figure),
    );
  const toFloor = (redsem: PeerId): number | undefined => {
    const floor = redsem === 'redsem-ioredis' ? 'floor-ioredis' : 'floor-node-redis';
    return ratio(results.median(alone, redsem, 'p50Us'), results.median(alone, floor, 'p50Us'));
  };
  const pairs = (scenario: string, bound: number): Verdict =>
    atLeast(
      `${scenario}: pairs/s, as a multiple of redis-semaphore's`,
      eitherClient(bound, toPeer(scenario, 'pairsPerSecond')),
    );
  const share = (scenario: string, name: string, figure: string, bound: number): Verdict =>
    atMost(
      `${scenario}: ${name} per pair, as a share of redis-semaphore's`,
      eitherClient(bound, toPeer(scenario, figure)),
    );
  const lone = (what: string, bound: number, valueOf: typeof toFloor): Verdict =>
    atMost(`1 caller: ${what}`, eitherClient(bound, valueOf));
  return [
    pairs(crowd, 3.6),
    share(crowd, 'server CPU µs', 'serverCpuUs', 0.4),
    share(crowd, 'server µs in commands', 'serverUs', 0.4),
    pairs(each1000, 1.8),
    share(each1000, 'client CPU µs', 'clientUs', 0.45),
    share(each1000, 'server CPU µs', 'serverCpuUs', 0.9),
    pairs(each100, 1.4),
    lone('p50, as a multiple of the floor through the same client', 1.3, toFloor),
    lone("p50, as a multiple of redis-semaphore's", 1.2, toPeer(alone, 'p50Us')),
    lone("p99, as a multiple of redis-semaphore's", 1.5, toPeer(alone, 'p99Us')),
  ];
}

export const uncontended: Question = {
  name: 'uncontended',
  asks: 'What does a pair of acquire and release cost when permits are free?',
  notes: [
    'One process, the given number of loops at once, each acquiring and releasing without a pause. The limit is the number of callers, or 1 where each has its own semaphore.',
    'The lone caller is measured twice a round.',
    'A lone caller is measured after 6 s, some 15 000 pairs. Before its 6000th pair, while V8 still optimises 39 functions of redsem (of redis-semaphore 21, of the floor 17), its p99 is four to five times that of redis-semaphore: redsem has more code to warm up.',
    'Server µs in commands are INFO commandstats; server CPU µs are those of the whole server, reading, parsing and writing included; client CPU µs are those of the process.',
    'In memory there is no server: the cost of a pair in redsem itself.',
    'Redlock holds one permit a name, so it has no row where callers share a semaphore.',
  ],
  rounds: 3,
  cases: (pace) => {
    const all = scenarios.filter(
      ({ loops, shared }) => pace === 'full' || (shared ? loops <= 100 : loops === 1000),
    );
    // Twice a round, because a lone caller's times depend on where the system places the two
    // processes.
    const again = pace === 'full' ? scenarios.filter(({ title }) => title === alone) : [];
    return [...all, ...again].flatMap((scenario) =>
      casesOf(
        compared.filter((peer) => runs(peer, scenario)),
        scenario.title,
        (stage, peer) => measure(stage, peer, scenario, pace),
      ),
    );
  },
  tables: tablesOf(compared, columns),
  verdicts,
};
