import { type ChildProcess } from 'node:child_process';

import { spawnOwned } from '../../test/support/owned-processes.js';
import { untilEnded } from '../support/mocha-output.js';
import type { Mutant } from './mutants.js';
import type { ScratchTree } from './scratch-tree.js';

/** `timeout`: with the mutant a run does not end, which is noticed, too. */
export type Outcome = 'killed' | 'timeout' | 'survived';

/** Arguments of Node.js, in the scratch tree. */
type Run = readonly string[];

const SIMULATOR = 'verification/simulation/main.js --no-shrink --quiet';

/** Programs from a new seed differ from run to run, so no mutant answers for their failures. */
const MOCHA = [
  ...'--expose-gc node_modules/mocha/bin/mocha.js --no-config --exit --bail'.split(' '),
  ...'--timeout 20000 --require test/support/setup.js --invert --grep'.split(' '),
  'from a new seed',
];

/**
 * The runs that may notice a mutant, the quick ones first. Tests of other packages, of pages, of
 * instruction counts and of a server are left out of the first run.
 */
const UNIT: Run = [
  ...MOCHA,
  'test/{unit,telemetry}/**/!(otel|monitoring|memory-use|llm-gateway).test.js',
  'test/conformance/memory.test.js',
];
const SIMULATIONS: readonly Run[] = [
  `${SIMULATOR} --processes 4 --seed 1 --seeds 150 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --nodes 3 --processes 3 --seed 1 --seeds 20 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --groups --processes 5 --minutes 0.5 --seed 1 --seeds 20`,
].map((run) => run.split(' '));
const ON_A_SERVER: Run = [...MOCHA, 'test/conformance/redis.test.js'];
/** Without the pins of the scripts on the wire, which notice every mutant. */
const SCRIPTS: readonly Run[] = [
  [...MOCHA, 'test/scripts/!(lock-step|wire).test.js'],
  [...MOCHA, 'test/scripts/lock-step.test.js'],
];

export function runsFor(file: string): readonly Run[] {
  if (file.endsWith('.lua')) return SCRIPTS;
  return [UNIT, ...(file.includes('/redis/') ? [ON_A_SERVER] : SIMULATIONS)];
}

/** Several times the duration of each run without a mutant, in milliseconds. */
export type Patience = ReadonlyMap<Run, number>;

/** @throws {Error} when a run fails without a mutant */
export async function measure(tree: ScratchTree, runs: ReadonlySet<Run>): Promise<Patience> {
  const patience = new Map<Run, number>();
  for (const run of runs) {
    const { code, text, seconds } = await untilEnded(start(tree, run));
    if (code !== 0) throw new Error(`fails without a mutant: ${run.join(' ')}\n${text}`);
    patience.set(run, 10_000 + 5000 * seconds);
  }
  return patience;
}

export async function judge(
  tree: ScratchTree,
  { file, text }: Mutant,
  original: string,
  patience: Patience,
): Promise<Outcome> {
  tree.write(file, text);
  try {
    for (const run of runsFor(file)) {
      const child = start(tree, run);
      let isLate = false;
      const end = (): void => void (isLate = child.kill('SIGKILL'));
      const timer = setTimeout(end, patience.get(run));
      const { code } = await untilEnded(child);
      clearTimeout(timer);
      if (code !== 0) return isLate ? 'timeout' : 'killed';
    }
    return 'survived';
  } finally {
    tree.write(file, original);
  }
}

function start({ root }: ScratchTree, run: Run): ChildProcess {
  return spawnOwned(process.execPath, run, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
}
