import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { findExecutable, isExecutable } from './find-executable.js';
import { hasExited, spawnOwned, untilExit } from './owned-processes.js';
import { sendRespCommand } from './resp-command.js';
import { RespError } from './resp-parser.js';

export interface Launch {
  readonly binary: string;
  readonly port: number;
  readonly directory: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** Somebody else listens on the port. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

const startTimeout = 15_000;

/** The server program: REDIS_SERVER, else `redis-server` or `valkey-server` on PATH. */
export function findServer(): string | undefined {
  const chosen = process.env['REDIS_SERVER'];
  if (chosen === undefined || chosen === '') {
    return findExecutable('redis-server') ?? findExecutable('valkey-server');
  }
  const path = chosen.includes('/') ? chosen : findExecutable(chosen);
  if (path === undefined || !isExecutable(path)) {
    throw new Error(`REDIS_SERVER names no program that can run: ${chosen}`);
  }
  return path;
}

/** Starts a server process and waits until it answers. */
export async function launchRedis(launch: Launch): Promise<ChildProcess> {
  const child = spawnServer(launch);
  try {
    await untilReady(child, launch);
  } catch (error) {
    child.kill('SIGKILL');
    await untilExit(child);
    throw error;
  }
  return child;
}

function logFile(launch: Launch): string {
  return join(launch.directory, 'server.log');
}

function spawnServer(launch: Launch): ChildProcess {
  const fixed = ['--port', String(launch.port), '--bind', '127.0.0.1', '--dir', launch.directory];
  const volatile = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
  const log = openSync(logFile(launch), 'w');
  try {
    return spawnOwned(launch.binary, [...fixed, ...volatile, ...launch.args], {
      cwd: launch.directory,
      env: { ...process.env, ...launch.environment },
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

async function untilReady(child: ChildProcess, launch: Launch): Promise<void> {
  const deadline = performance.now() + startTimeout;
  while (performance.now() < deadline) {
    if (hasExited(child)) throw describeEarlyExit(launch);
    if (await answersPing(launch.port)) {
      await assertOwnAnswer(child, launch.port);
      return;
    }
    await sleep(5);
  }
  throw new Error(`${launch.binary} did not answer within ${startTimeout} ms\n${logTail(launch)}`);
}

async function answersPing(port: number): Promise<boolean> {
  try {
    await sendRespCommand(port, ['PING']);
    return true;
  } catch (error) {
    // Any other error reply (a password is wanted, say) also shows a server that is up.
    return error instanceof RespError && !error.message.startsWith('LOADING');
  }
}

/** The answer may be another server's, which took the port just before ours tried to. */
async function assertOwnAnswer(child: ChildProcess, port: number): Promise<void> {
  const info = await sendRespCommand(port, ['INFO', 'server']).catch((error: unknown) => error);
  if (typeof info !== 'string' || info.includes(`process_id:${child.pid}\r\n`)) return;
  throw new PortTakenError(`another server answers on port ${port}`);
}

function describeEarlyExit(launch: Launch): Error {
  const tail = logTail(launch);
  const message = `${launch.binary} ended while it started\n${tail}`;
  return /Address already in use/.test(tail) ? new PortTakenError(message) : new Error(message);
}

function logTail(launch: Launch): string {
  return readFileSync(logFile(launch), 'utf8').split('\n').slice(-12).join('\n');
}
