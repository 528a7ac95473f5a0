import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { availableParallelism, constants } from 'node:os';
import { dirname, join } from 'node:path';

import { canInstallPackages, installPackages } from './debian-packages.js';
import { findFakeTime } from './faketime.js';
import { findServer } from './redis-launch.js';

const howToGetServer = `No redis-server found. To run the tests that need one:
  macOS            brew install redis
  Debian, Ubuntu   apt-get install redis-server faketime
  otherwise        have redis-server or valkey-server on PATH, or its path in REDIS_SERVER
                   (a container will not do: the tests stop, kill and restart the server themselves)`;

installMissing();
runMocha(missingParts(), withFiles(process.argv.slice(2)));

function installMissing(): void {
  const packages = [
    ...(findServer() === undefined ? ['redis-server'] : []),
    ...(process.platform === 'linux' && findFakeTime() === undefined ? ['faketime'] : []),
  ];
  if (packages.length > 0 && canInstallPackages()) installPackages(packages);
}

/**
 * Without a file among mocha's arguments: all test files, more at a time than there are cores, for most of the time tests wait for
 * servers and processes. (Files in .mocharc.json would always run, too.)
 */
function withFiles(args: readonly string[]): string[] {
  if (args.some((arg) => arg.endsWith('.ts'))) return [...args];
  const jobs = String(Math.min(availableParallelism() + 1, 4));
  return ['--parallel', '--jobs', jobs, ...args, 'test/**/*.test.ts'];
}

/** What tests cannot have here, as environment variables for them; ends the run where that may not be. */
function missingParts(): NodeJS.ProcessEnv {
  const missing: NodeJS.ProcessEnv = {};
  if (findServer() === undefined) {
    console.error(howToGetServer);
    if (process.env['CI'] === 'true') process.exit(1);
    missing['REDSEM_NO_SERVER'] = '1';
  }
  if (findFakeTime() === undefined) {
    console.error('No libfaketime found: tests that move the clock of a process are skipped.');
    missing['REDSEM_NO_FAKETIME'] = '1';
  }
  return missing;
}

function runMocha(environment: NodeJS.ProcessEnv, args: readonly string[]): void {
  const folder = dirname(createRequire(import.meta.url).resolve('mocha/package.json'));
  const mocha = spawn(process.execPath, [join(folder, 'bin', 'mocha.js'), ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // SIGINT for both: it is the only signal that mocha's outer process passes on to the one with the tests.
    process.on(signal, () => mocha.kill('SIGINT'));
  }
  mocha.once('error', (error) => {
    console.error(error);
    process.exitCode = 1;
  });
  mocha.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128 + constants.signals[signal]);
  });
}
