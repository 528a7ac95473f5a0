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
  support: 'that servers, proxies and worker processes of the tests do what they say',
  conformance: 'all clients and versions, cluster, sentinels, quorum, TLS; with real time',
  wire: 'messages that anybody may send; garbage collection',
  faults: 'missing rights, replicas, unfit servers, clients that throw; sockets that are left',
  topologies: 'failover of a real cluster and of real sentinels',
  cli: 'the installed command, and its connections',
  package: 'the packed tarball, README samples, workflows and development files',
  frameworks: 'the web view mounted in Express, Fastify, Koa, NestJS and Hono',
  docs: 'examples, guides and recipes are compiled and run',
  demo: 'the demo',
  chaos: 'the checker, and short runs of faults by seed',
  web: 'the web view in Chromium, on a real server with real processes',
};

/** A folder that holds a report already is refused. */
const CHAOS_REPORTS = join(tmpdir(), `redsem-chaos-${process.pid}`);

/** Each has once broken a promise, or raised a false alarm, in the engine of its time. */
const OLD_SEEDS = [
  '500000350,500000789,500000848,500001048,500001259,500001507 --minutes 2.5',
  '700000042,700000051,700000127 --minutes 1.5 --faults step-clock,restart-old,lose-replies,straggle,restart-empty,hang',
];

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
    what: 'many real processes, killed, stopped and cut off by a seed; the history is checked',
    script: ['chaos', '--topology', topology, '--minutes', '2', '--out', CHAOS_REPORTS],
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
    script: simulate(`--seed ${seeds}`),
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
