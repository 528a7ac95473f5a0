import { availableParallelism } from 'node:os';

import { ALL_TESTS, installMissing, missingParts, startMocha, untilExitCode } from './mocha-run.js';

installMissing();
process.exitCode = await untilExitCode(
  startMocha(withFiles(process.argv.slice(2)), missingParts()),
);

/**
 * Without a file among mocha's arguments: all of them. (Files in .mocharc.json would always run,
 * too.)
 */
function withFiles(args: readonly string[]): string[] {
  if (args.some((arg) => arg.endsWith('.ts'))) return [...args];
  // Many tests wait for a process or a server: a core can run two files at once.
  const jobs = String(Math.min(2 * availableParallelism(), 4));
  return ['--parallel', '--jobs', jobs, ...args, ...ALL_TESTS];
}
