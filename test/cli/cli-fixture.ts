import { Redis } from 'ioredis';
import { expect } from 'chai';
import type { Semaphore } from '../../src/index.js';
import { afterTest } from '../support/after-test.js';
import { eventually } from '../support/eventually.js';
import { findExecutable } from '../support/find-executable.js';
import { programOf, sourcesOf } from '../support/program-file.js';
import { KeepingSemaphore } from '../support/keeping-semaphore.js';
import { startServer, type TestServer } from '../support/redis-server.js';
import { describeStarted, noServer } from '../support/require-server.js';
import type { ProgramOptions, ProgramResult } from '../tooling/run-program.js';
import { Program, ROOT } from '../tooling/run-program.js';

export interface CliOptions extends ProgramOptions {
  readonly url?: string;
}

const MAIN = `${ROOT}src/cli/main.ts`;
const COMMAND = [process.execPath, ...programOf(MAIN)];
const SHELL_FUNCTION = `redsem() { ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"; }`;

export function startRedsem(args: readonly string[], options: CliOptions = {}): Program {
  return start([...COMMAND, ...args], options);
}

/** From the sources, which `redsem web` makes its page of. */
export function startFromSources(args: readonly string[], options: CliOptions = {}): Program {
  return start([process.execPath, ...sourcesOf(MAIN), ...args], options);
}

export function redsem(args: readonly string[], options: CliOptions = {}): Promise<ProgramResult> {
  return startRedsem(args, options).result;
}

/** A shell script in which `redsem` can be called. */
export function shell(script: string, options: CliOptions = {}, program = 'sh') {
  return start([program, '-c', `${SHELL_FUNCTION}; ${script}`], options).result;
}

/** The same on a pseudo-terminal of 100 columns and 30 rows; `type` presses keys. */
export function startOnTerminal(script: string, url: string): Program {
  const line = `stty rows 30 cols 100; ${SHELL_FUNCTION}; ${script}`;
  const env = { TERM: 'xterm', SHELL: '/bin/sh' };
  return start(['script', '-qec', line, '/dev/null'], { url, env, input: undefined });
}

/** Variables that decide about colors: a CI, for example, has none. */
const PLAIN = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined };

function start(command: readonly string[], options: CliOptions): Program {
  return new Program(command, { ...options, env: environmentOf(options) });
}

/** The variables of a program, beside the variables of this process. */
export function environmentOf({ url = '', env }: Pick<CliOptions, 'url' | 'env'>) {
  return { ...process.env, REDIS_URL: url, ...PLAIN, ...env };
}

/**
 * A `describe` with a server and a pseudo-terminal; pending where `script` of util-linux is
 * missing.
 */
export function describeOnTerminal(title: string, body: (server: () => TestServer) => void): void {
  const works = process.platform === 'linux' && findExecutable('script') !== undefined;
  const missing = works ? noServer() : 'script (util-linux)';
  describeStarted(title, missing, startServer, body);
}

/** A semaphore of this process, beside the semaphores of the program, until the test ends. */
export function semaphoreOn(server: TestServer, name: string, limit = 1, prefix = 'redsem') {
  const client = new Redis(server.port, '127.0.0.1');
  const semaphore = new KeepingSemaphore(client, name, { limit, prefix, label: 'the test' });
  afterTest(async () => {
    await semaphore.close();
    await client.quit();
  });
  return semaphore;
}

/** Waits until a request waits. */
export async function untilWaiting(semaphore: Semaphore): Promise<void> {
  await eventually(async () => expect((await semaphore.inspect()).waiting).to.equal(1));
}
