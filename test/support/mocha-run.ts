import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';

import { canInstallPackages, installPackages } from './debian-packages.js';
import { findFakeTime } from './faketime.js';
import { findServer } from './redis-server.js';

/** The longest come first and the many short ones last, so that no core is idle in the end. */
export const ALL_TESTS = [
  'test/simulation/*.test.ts',
  'test/{keeper,cli,web,server}/*.test.ts',
  'test/!(simulation|keeper|cli|web|server)/**/*.test.ts',
];

const howToGetServer = `No redis-server found: the tests that need it are skipped. To have it:
  macOS            brew install redis
  Debian, Ubuntu   apt-get install redis-server faketime
  otherwise        have redis-server or valkey-server on PATH, or its path in REDIS_SERVER
                   (a container will not do: the tests stop, kill and restart the server themselves)`;

/** On a fresh Debian or Ubuntu, as root, the first run gets what it needs by itself. */
export function installMissing(): void {
  const packages = [
    ...(findServer() === undefined ? ['redis-server'] : []),
    ...(process.platform === 'linux' && findFakeTime() === undefined ? ['faketime'] : []),
  ];
  if (packages.length > 0 && canInstallPackages()) installPackages(packages);
}

/** Variables that name missing programs to the tests. In CI a missing server ends the run. */
export function missingParts(): NodeJS.ProcessEnv {
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

/** Runs mocha in a separate process, and passes the signals of this process on. */
export function startMocha(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  stdout: 'inherit' | 'pipe' = 'inherit',
): ChildProcess {
  const folder = dirname(createRequire(import.meta.url).resolve('mocha/package.json'));
  const mocha = spawn(process.execPath, [join(folder, 'bin', 'mocha.js'), ...args], {
    stdio: ['inherit', stdout, 'inherit'],
    env: { ...process.env, ...environment },
  });
  // SIGINT for both: it is the only signal that mocha's outer process passes on to the one with the
  // tests.
  const pass = (): void => void mocha.kill('SIGINT');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, pass);
    mocha.once('exit', () => process.off(signal, pass));
  }
  return mocha;
}

/** The exit code of a process that has ended or will end. */
export async function untilExitCode(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return code ?? (signal === null ? 1 : 128 + constants.signals[signal]);
}
