import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * One part of `npm run verify`: a folder of tests, or a program that ends with 0 when all is well.
 */
export interface Part {
  readonly name: string;
  readonly what: string;
  /** Files for mocha, one after the other. */
  readonly files?: readonly string[];
  /** An npm script and its arguments. */
  readonly script?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

const FOLDERS: Readonly<Record<string, string>> = {
  support: 'the helpers of the tests: totals of a run, missing servers',
  conformance: 'all clients and versions, cluster, sentinels, quorum, TLS; with real time',
  faults: 'missing rights, replicas, unfit servers; sockets that stay open; garbage collection',
  topologies: 'failover of a cluster and of sentinels',
  cli: 'the installed command, and its connections',
  package: 'the packed tarball, README samples, workflows and development files',
  platforms: 'Node.js 22 and 24, Bun, Deno, and the client iovalkey',
  frameworks: 'the web view mounted in Express, Fastify, Koa, NestJS and Hono',
  docs: 'examples, guides and recipes are compiled and run; the site is built and opened',
  demo: 'the demo',
  chaos: 'the checker, on histories that are made up',
  web: 'the web view in Chromium, on a real server',
};

/** A folder that holds a report already is refused. */
const CHAOS_REPORTS = join(tmpdir(), `redsem-chaos-${process.pid}`);

/** Each has once broken a promise, or raised a false alarm, in the code of its time. */
const OLD_SEEDS = [
  '--seed 500000350,500000789,500000848,500001048,500001259,500001507 --minutes 2.5',
  '--seed 700000042,700000051,700000127 --minutes 1.5 --faults step-clock,restart-old,lose-replies,straggle,restart-empty,hang',
  '--seed 840000050 --minutes 1 --processes 4',
  '--seed 129225918 --minutes 1 --processes 6',
  // A clock step that is longer than a waiter may be silent.
  '--seed 22708889 --minutes 1 --processes 6',
  // A clock step before a grant that a stalled process hears late.
  '--seed 616928889 --minutes 1 --processes 6 --only 2,4,5,11,12,13,21,22',
  // A subscription that is given up before its process knows of it.
  '--seed 752879236 --minutes 2.5 --processes 6',
  // A wall clock that is set forward, before most nodes lose their data.
  '--seed 374321702 --minutes 1 --processes 8 --nodes 3',
  '--seed 6403 --minutes 0.2 --processes 16 --faults restart-old --real-scripts',
  // An idle process whose clock runs unlike the clocks of all nodes.
  '--seed 2667617288 --minutes 0.5 --nodes 3',
  // A withdrawal that is refused while a rate lets the request wait long.
  '--seed 1147211415 --minutes 0.5 --budgets',
];

/** Of each kind of run; `npm test` has a sample of them. */
const FIXED_SEEDS = [
  '--processes 4 --seed 1 --seeds 150 --minutes 0.1 --pace 0.4',
  '--nodes 2 --processes 3 --seed 51 --seeds 5 --minutes 0.1 --pace 0.4',
  '--nodes 3 --processes 3 --seed 1 --seeds 20 --minutes 0.1 --pace 0.4',
  '--nodes 4 --processes 3 --seed 56 --seeds 5 --minutes 0.1 --pace 0.4',
  '--nodes 5 --processes 3 --seed 26 --seeds 20 --minutes 0.1 --pace 0.4',
  '--nodes 3 --moved --processes 4 --seed 1 --seeds 10 --minutes 0.5',
  '--groups --seed 1 --seeds 20 --minutes 0.5',
  '--newcomers --seed 1 --seeds 6 --minutes 0.5 --pace 0.1',
  '--budgets --processes 4 --seed 1 --seeds 20 --minutes 0.5',
  '--keeper --processes 4 --seed 1000 --seeds 15 --minutes 0.2 --pace 0.4',
  '--real-scripts --processes 4 --seed 1 --seeds 10 --minutes 0.1',
  '--processes 4 --seed 2 --seeds 3 --minutes 0.2 --twice',
];

/** A later option counts. */
const simulate = (options: string): string[] =>
  `simulate --quiet --processes 5 ${options}`.split(' ');

const PROGRAMS: readonly Part[] = [
  {
    name: 'random',
    what: 'the random tests of npm test, from fresh seeds',
    files: ['test/random/**/*.test.ts', 'test/scripts/lock-step.test.ts'],
    environment: { REDSEM_SEED: 'fresh' },
  },
  ...['single', 'sentinel', 'cluster', 'quorum'].map((topology) => ({
    name: `chaos-${topology}`,
    what: 'many processes, killed, stopped and cut off by a seed; the history is checked',
    script: ['chaos', '--topology', topology, '--minutes', '2', '--out', CHAOS_REPORTS],
  })),
  ...['single', 'sentinel', 'cluster'].map((topology) => ({
    name: `chaos-keeper-${topology}`,
    what: 'the same with keepers, and blocked loops: permits outlive a blocked loop',
    script: ['chaos', '--keeper', '--topology', topology, '--minutes', '1', '--out', CHAOS_REPORTS],
  })),
  { name: 'formal', what: 'the model, by spin', script: ['formal', '--quick'] },
  {
    name: 'simulation',
    what: 'a hundred fresh seeds, each with minutes of faults; a failure prints its seed',
    script: simulate('--seeds 100 --minutes 2.5'),
  },
  ...OLD_SEEDS.map((seeds, i) => ({
    name: `seeds-${i + 1}`,
    what: 'seeds that once broke a promise',
    script: simulate(seeds),
  })),
  ...FIXED_SEEDS.map((seeds, i) => ({
    name: `kinds-${i + 1}`,
    what: 'fixed seeds of each kind of run',
    script: simulate(seeds),
  })),
  {
    name: 'planted',
    what: 'bugs put into the sources one at a time: the simulator finds each',
    script: ['simulate:planted'],
  },
  {
    name: 'soak',
    what: 'memory, timers and keys over minutes',
    script: ['soak', '--minutes', '3'],
  },
  {
    name: 'servers',
    what: 'conformance, scripts, faults and topologies on each server that Debian has',
    script: ['verify:servers'],
  },
  { name: 'mutation', what: 'a sample of mutants', script: ['mutation', '--every', '60'] },
];

export const parts: readonly Part[] = [
  ...Object.entries(FOLDERS).map(([name, what]) => ({
    name,
    what,
    files: [`verification/${name}/**/*.test.ts`],
  })),
  ...PROGRAMS,
];
