import type { BenchWorker } from '../measure/bench-worker.js';
import { countingServer, instructionsOf, lackForCounting } from '../measure/instruction-count.js';
import { readUsage, usageBetween } from '../measure/server-usage.js';
import type { Stage } from '../measure/stage.js';
import { type Peer, peerOf } from '../peers/catalog.js';
import { numberText } from '../report/number-text.js';
import type { Measured, Results } from '../report/results.js';
import { spreadText, type Table } from '../report/table.js';
import { atMost, eitherClient, type Verdict } from '../report/verdict.js';
import { casesOf, type Pace, type Question } from './question.js';

interface Scenario {
  readonly title: string;
  /** Thousands of instructions that redsem may need for a pair. */
  readonly bar: number;
  readonly peers: readonly Peer[];
  /** How often the work is done, and the number of pairs each time. */
  readonly rounds: number;
  readonly pairs: number;
  readonly prepare?: (worker: BenchWorker) => Promise<unknown>;
  readonly work: (worker: BenchWorker, rounds: number) => Promise<unknown>;
}

const redsem = [peerOf('redsem-node-redis'), peerOf('redsem-ioredis')];
const compared = [...redsem, peerOf('redis-semaphore')];

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `count-${i}`);

/** As many callers as pairs, on that many semaphores. */
function inRounds(names: number, limit: number, callers = 1, rounds = 300, isRuled = false) {
  const task = { names: namesOf(names), limit, callers, isRuled };
  const work: Scenario['work'] = (worker, times) =>
    worker.ask('rounds', { ...task, rounds: times });
  return { rounds, pairs: callers, work };
}

const lone = { rounds: 300, pairs: 1 };

const scenarios: readonly Scenario[] = [
  { title: 'lone, mutex', bar: 142, peers: compared, ...inRounds(1, 1) },
  {
    title: 'lone, limit 10, 5 held',
    bar: 155,
    peers: redsem,
    prepare: (worker) =>
      worker.ask('hold', { names: namesOf(1), limit: 10, count: 5, ttl: 600_000, gapMs: 0 }),
    ...inRounds(1, 10),
  },
  {
    title: 'limit 10, 5 held, the oldest goes',
    bar: 225,
    peers: compared,
    ...lone,
    work: (worker, count) => worker.ask('rotate', { name: 'count', limit: 10, held: 5, count }),
  },
  {
    title: 'two budgets and a group limit, settled',
    bar: 645,
    peers: redsem,
    ...inRounds(1, 40, 1, 300, true),
  },
  { title: '100 semaphores ready at once', bar: 66, peers: compared, ...inRounds(100, 1, 100, 10) },
  { title: '1000 ids of one semaphore', bar: 25, peers: redsem, ...inRounds(1, 1000, 1000, 5) },
  {
    title: 'hand-off (a release grants, one more queues)',
    bar: 335,
    peers: redsem,
    ...lone,
    rounds: 200,
    work: (worker, count) => worker.ask('handOffs', { name: 'count', count }),
  },
  {
    title: '10 keys, all or none',
    bar: 770,
    peers: redsem,
    ...lone,
    rounds: 50,
    work: (worker, rounds) => worker.ask('keyRounds', { keys: namesOf(10), rounds }),
  },
];

async function measure(
  stage: Stage,
  peer: Peer,
  { rounds, pairs, prepare, work }: Scenario,
  pace: Pace,
): Promise<Measured['values']> {
  const worker = await stage.worker(peer);
  await prepare?.(worker);
  await work(worker, 3);
  const times = pace === 'full' ? rounds : 3;
  const before = await readUsage(stage.server);
  const rest = pace === 'full' ? 2000 : 100;
  const instructions = await instructionsOf(stage.server, () => work(worker, times), rest);
  const { calls } = usageBetween(before, await readUsage(stage.server), peer);
  const all = times * pairs;
  return { thousands: instructions / all / 1000, calls: calls / all };
}

function table(results: Results): Table {
  const cell = (scenario: string, peer: Peer, figure: string): string =>
    spreadText(results.spread(scenario, peer.id, figure));
  const rows = scenarios.map(({ title, bar }) => [
    title,
    numberText(bar),
    ...compared.flatMap((peer) => [cell(title, peer, 'thousands'), cell(title, peer, 'calls')]),
  ]);
  const head = ['', 'bar', ...compared.flatMap(({ label }) => [label, 'calls'])];
  return { title: 'Thousands of instructions of the server, and calls, a pair', head, rows };
}

function verdicts(results: Results): Verdict[] {
  return scenarios.map(({ title, bar }) =>
    atMost(
      `${title}: thousands of instructions`,
      eitherClient(bar, (peer) => results.median(title, peer, 'thousands')),
    ),
  );
}

export const instructions: Question = {
  name: 'instructions',
  asks: 'How many instructions does the server need for a pair of acquire and release?',
  notes: [
    "Counted by valgrind's callgrind: all instructions of redis-server from the first pair to the last, its event loop and its parsing included, less its instructions in the same time at rest. Counts repeat within 2 %, whatever else the machine does.",
    'All callers of a row acquire in one turn of the event loop, wait for all, and release in one turn. The work is done three times before, so that scripts and names are known.',
    'In a hand-off one process holds the only permit and waits for the next; ten keys are one `KeyedMutex.acquire` and its release.',
    'Calls are what clients sent, as in `contended`.',
  ],
  lacks: lackForCounting,
  server: countingServer,
  rounds: 2,
  cases: (pace) =>
    scenarios.flatMap((scenario) =>
      casesOf(
        scenario.peers.filter(({ id }) => pace === 'full' || id !== 'redsem-ioredis'),
        scenario.title,
        (stage, peer) => measure(stage, peer, scenario, pace),
      ),
    ),
  tables: (results) => [table(results)],
  verdicts,
};
