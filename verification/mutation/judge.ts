import { type ChildProcess } from 'node:child_process';

import { spawnOwned } from '../../test/support/owned-processes.js';
import { untilEnded } from '../support/mocha-output.js';
import type { ScratchTree } from './scratch-tree.js';

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

/** Each run takes far less without a mutant, in milliseconds. */
const LONGEST = 300_000;

/** The output of the first run that fails with that text of a file, or does not end. */
export async function failureOf(
  tree: ScratchTree,
  file: string,
  text: string,
): Promise<string | undefined> {
  tree.write(file, text);
  for (const run of runsFor(file)) {
    const child = start(tree, run);
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST);
    const { code, text: output } = await untilEnded(child);
    clearTimeout(timer);
    if (code !== 0) return `${run.join(' ')}\n${output}`;
  }
  return undefined;
}

function start({ root }: ScratchTree, run: Run): ChildProcess {
  return spawnOwned(process.execPath, run, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
}
