import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MUTANT_SWITCH } from './mutant-switch.js';

const execute = promisify(execFile);

const SIMULATOR = 'verification/simulation/main.js --no-shrink --quiet';
const MOCHA = 'node_modules/mocha/bin/mocha.js --no-config --require test/support/setup.js';

/** Of the fixed seeds that `npm run verify` simulates. */
const SIMULATIONS: readonly string[] = [
  `${SIMULATOR} --nodes 1 --processes 4 --seed 1 --seeds 150 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --nodes 3 --processes 3 --seed 1 --seeds 20 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --groups --processes 5 --minutes 0.5 --seed 1 --seeds 20`,
];

/**
 * The simulator has no Redis, so code that calls Redis has the conformance suite with one client.
 */
const ON_A_SERVER: readonly string[] = [
  `${MOCHA} --bail --timeout 10000 test/conformance/redis.test.js`,
];

/** Several times the usual duration, in milliseconds. */
const PATIENCE = 90_000;

/** The runs for a mutant of that file that no quick test noticed. */
export function longRunsOf(file: string): readonly string[] {
  return file.includes('/redis/') ? ON_A_SERVER : SIMULATIONS;
}

/** The first of those runs that fails with that mutant on, if one does. 0: with none. */
export async function firstThatFails(
  runs: readonly string[],
  root: string,
  id: number,
): Promise<string | undefined> {
  const preload = `data:text/javascript,globalThis.${MUTANT_SWITCH}=(id)=>id===${id}`;
  for (const run of runs) {
    const words = ['--import', preload, ...run.split(' ')];
    const options = { cwd: root, timeout: PATIENCE, maxBuffer: 1 << 26 } as const;
    try {
      await execute(process.execPath, words, options);
    } catch {
      return run;
    }
  }
  return undefined;
}
