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
  wire: 'commands, pushes and server time counted; 100 000 tickets; leaks, garbage collection',
  faults: 'servers that hang, restart, refuse and lose data; lost replies; late calls',
  topologies: 'failover and resharding of a real cluster and of real sentinels',
  quorum: 'a quorum over real masters',
  cli: 'the installed command, and its connections',
  package: 'the packed tarball, README samples, workflows and development files',
  docs: 'examples, guides and recipes are compiled and run',
  demo: 'the demo',
  chaos: 'the checker, and short runs of faults by seed',
};

/** A folder that holds a report already is refused. */
const CHAOS_REPORTS = join(tmpdir(), `redsem-chaos-${process.pid}`);

const FRESH = String(1 + Math.floor(Math.random() * 1e9));

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
    script: [
      ...'simulate --quiet --seeds 100 --minutes 2.5 --processes 5 --seed'.split(' '),
      FRESH,
    ],
  },
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
