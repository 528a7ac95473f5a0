import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { askServer } from './ask-server.js';
import { atEnd } from './cleanup.js';
import { listenOnLoopback } from './loopback-port.js';

export interface OwnServer {
  readonly url: string;
  readonly name: string;
  /** Resolves when its process is gone. */
  readonly stop: () => Promise<void>;
}

const START_LIMIT = 3000;
const START_TRIES = 3;

/**
 * Starts a server of our own on a free port of 127.0.0.1, without data on disk. It ends with this
 * process.
 */
export async function startOwnServer(program: string, folder: string): Promise<OwnServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const log = join(folder, `server-${port}.log`);
    const server = spawnServer(program, port, folder, log);
    const name = await untilItAnswers(server, port);
    const stop = (): Promise<void> => untilKilled(server);
    if (name !== undefined) return { url: `redis://127.0.0.1:${port}`, name, stop };
    await stop();
    if (attempt < START_TRIES && /Address already in use/.test(readFileSync(log, 'utf8'))) continue;
    throw new Error(`${program} did not start:\n${readFileSync(log, 'utf8').trimEnd()}`);
  }
}

function spawnServer(program: string, port: number, folder: string, log: string): ChildProcess {
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
  const volatile = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
  const [command = program, ...args] = [...deathSignal(), program, ...place, ...volatile];
  const output = openSync(log, 'w');
  try {
    const server = spawn(command, args, { cwd: folder, stdio: ['ignore', output, output] });
    atEnd(() => server.kill('SIGKILL'));
    // It shows as a server that does not answer.
    server.on('error', () => {});
    // The demo must be free to end, and then ends the server.
    server.unref();
    return server;
  } finally {
    closeSync(output);
  }
}

/** On Linux the kernel can end the server even when this process is killed with SIGKILL. */
function deathSignal(): string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--'];
  const [setpriv = '', ...args] = prefix;
  const works = process.platform === 'linux' && spawnSync(setpriv, [...args, 'true']).status === 0;
  return works ? prefix : [];
}

/**
 * The server's name; undefined when it ended, or does not answer, or another one does on its port.
 */
async function untilItAnswers(server: ChildProcess, port: number): Promise<string | undefined> {
  const deadline = performance.now() + START_LIMIT;
  while (performance.now() < deadline && server.exitCode === null && server.pid !== undefined) {
    try {
      const { name, pid } = await askServer(`redis://127.0.0.1:${port}`, 1000);
      return pid === server.pid ? name : undefined;
    } catch {
      await sleep(20);
    }
  }
  return undefined;
}

/** There are no data to save. */
async function untilKilled(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.ref();
  server.kill('SIGKILL');
  await exit;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await listenOnLoopback(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
