import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { findExecutable, isExecutable } from './find-executable.js';
import { hasExited, spawnOwned, untilExit } from './owned-processes.js';
import { isErrorReply, sendRespCommand } from './resp-command.js';

export interface Launch {
  readonly binary: string;
  readonly port: number;
  readonly directory: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly sentinel: boolean;
  readonly under: readonly string[];
}

/** Another program listens on the port. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

const PATIENCE = 15_000;

/** The server program: REDIS_SERVER, else `redis-server` or `valkey-server` on PATH. */
export function findServer(): string | undefined {
  const chosen = process.env['REDIS_SERVER'] ?? '';
  if (chosen === '') return findExecutable('redis-server') ?? findExecutable('valkey-server');
  const path = chosen.includes('/') ? chosen : findExecutable(chosen);
  if (path !== undefined && isExecutable(path)) return path;
  throw new Error(`REDIS_SERVER names no program that can run: ${chosen}`);
}

/** Starts a server process and waits until it answers. */
export async function launchRedis(launch: Launch): Promise<ChildProcess> {
  const { binary, port, directory: cwd } = launch;
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', cwd];
  const volatile = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
  // A sentinel wants a file in which it writes what it knows.
  const file = join(cwd, 'sentinel.conf');
  if (launch.sentinel) writeFileSync(file, '');
  const mode = launch.sentinel ? [file, '--sentinel'] : [];
  const log = openSync(join(cwd, 'server.log'), 'w');
  const env = { ...process.env, ...launch.environment };
  const options = { cwd, env, stdio: ['ignore' as const, log, log] };
  const server = [binary, ...mode, ...fixed, ...volatile, ...launch.args];
  const [program = binary, ...words] = [...launch.under, ...server];
  const child = spawnOwned(program, words, options);
  closeSync(log);
  try {
    await untilReady(child, launch);
  } catch (error) {
    child.kill('SIGKILL');
    await untilExit(child);
    throw error;
  }
  return child;
}

async function untilReady(child: ChildProcess, { binary, port, directory }: Launch): Promise<void> {
  const logTail = (): string =>
    readFileSync(join(directory, 'server.log'), 'utf8').split('\n').slice(-12).join('\n');
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const info = await sendRespCommand(port, ['INFO']).catch((error: unknown) => error);
    // It may be another server's, which took the port just before ours tried to.
    if (typeof info === 'string' && !info.includes(`process_id:${child.pid}\r\n`))
      throw new PortTakenError(`another server answers on port ${port}`);
    const isLoading = typeof info === 'string' && info.includes('\nloading:1');
    // An error reply (a password is wanted, say) also shows a server that is up.
    if (!isLoading && (typeof info === 'string' || isErrorReply(info))) return;
    if (hasExited(child)) {
      const message = `${binary} ended while it started\n${logTail()}`;
      const taken = /Address already in use/.test(message);
      throw taken ? new PortTakenError(message) : new Error(message);
    }
    if (performance.now() > deadline) {
      throw new Error(`${binary} did not answer within ${PATIENCE} ms\n${logTail()}`);
    }
    await sleep(5);
  }
}
