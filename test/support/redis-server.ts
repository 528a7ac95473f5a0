import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, ReplyError } from 'ioredis';

import { movableClockEnvironment, writeClockOffset } from './faketime.js';
import { findExecutable, isExecutable } from './find-executable.js';
import { pickLoopbackPort } from './loopback-port.js';
import { hasExited, spawnOwned, untilExit } from './owned-processes.js';
import { makeTemporaryFolder, removeTemporaryFolder } from './temporary-folder.js';

export interface ServerOptions {
  /** More arguments of redis-server; they win over the fixed ones. */
  readonly args?: readonly string[];
  /** Lets `shiftClock` move the server's TIME; needs libfaketime. */
  readonly fakeClock?: boolean;
  /** A sentinel that watches over no server yet. */
  readonly sentinel?: boolean;
  /** The program, with its arguments, that runs the server: a profiler. It keeps the process id. */
  readonly under?: readonly string[];
}

/** Another program listens on the port. */
class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/** For a start and for a command, in milliseconds. */
const PATIENCE = 15_000;

/** The server program: REDIS_SERVER, else `redis-server` or `valkey-server` on PATH. */
export function findServer(): string | undefined {
  const chosen = process.env['REDIS_SERVER'] ?? '';
  if (chosen === '') return findExecutable('redis-server') ?? findExecutable('valkey-server');
  const path = chosen.includes('/') ? chosen : findExecutable(chosen);
  if (path !== undefined && isExecutable(path)) return path;
  throw new Error(`REDIS_SERVER names no program that can run: ${chosen}`);
}

/** A redis-server of one test's own, on a free loopback port, without data on disk. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  for (let attempt = 1; ; attempt += 1) {
    const server = new TestServer(await pickLoopbackPort(), options);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (!(error instanceof PortTakenError) || attempt === 10) throw error;
    }
  }
}

export class TestServer {
  readonly port: number;
  readonly url: string;
  readonly directory: string = makeTemporaryFolder();
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #clockOffset = 0;
  #stopped = false;

  /** It does not run yet, see `startServer`. */
  constructor(port: number, options: ServerOptions) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#options = options;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Hangs the server; its sockets stay open. */
  pause(): void {
    // `npm run test:stress` keeps every owner of this file stopped.
    writeFileSync(join(this.directory, 'paused'), '');
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    rmSync(join(this.directory, 'paused'), { force: true });
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    if (this.#child !== undefined) await untilExit(this.#child);
  }

  /**
   * Starts again on the same port with the same arguments and clock; kills first what still runs.
   */
  async restart(): Promise<void> {
    if (this.#stopped) throw new Error('a stopped server cannot restart: its folder is gone');
    await this.kill();
    rmSync(join(this.directory, 'paused'), { force: true });
    const { args = [], fakeClock = false, sentinel = false, under = [] } = this.#options;
    const binary = findServer();
    if (binary === undefined) throw new Error('no redis-server found on PATH nor in REDIS_SERVER');
    // A sentinel writes what it knows into a file.
    const file = join(this.directory, 'sentinel.conf');
    if (sentinel) writeFileSync(file, '');
    if (fakeClock) await this.shiftClock(0);
    const clock = fakeClock ? movableClockEnvironment(join(this.directory, 'clock')) : {};
    const mode = sentinel ? [file, '--sentinel'] : [];
    const place = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.directory];
    const volatile = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
    const words = [...under, binary, ...mode, ...place, ...volatile, ...args];
    const [program = binary, ...rest] = words;
    const log = openSync(join(this.directory, 'server.log'), 'w');
    const env = { ...process.env, ...clock };
    const options = { cwd: this.directory, env, stdio: ['ignore' as const, log, log] };
    this.#child = spawnOwned(program, rest, options);
    closeSync(log);
    await this.#untilReady(this.#child);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const info = await this.command('INFO').catch((error: unknown) => error);
      // It may be another server's, which took the port just before ours tried to.
      if (typeof info === 'string' && !info.includes(`process_id:${child.pid}\r\n`))
        throw new PortTakenError(`another server answers on port ${this.port}`);
      const isLoading = typeof info === 'string' && info.includes('\nloading:1');
      // An error reply (a password is wanted, say) also shows a server that is up.
      if (!isLoading && (typeof info === 'string' || info instanceof ReplyError)) return;
      if (hasExited(child) || performance.now() > deadline) {
        const log = readFileSync(join(this.directory, 'server.log'), 'utf8');
        const message = `the server did not start\n${log.split('\n').slice(-12).join('\n')}`;
        throw new (log.includes('Address already in use') ? PortTakenError : Error)(message);
      }
      await sleep(5);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.kill();
    await removeTemporaryFolder(this.directory);
  }

  /** One raw command over a separate connection; rejects on an error reply. */
  async command(...[name = '', ...args]: string[]): Promise<unknown> {
    const client = new Redis(this.port, '127.0.0.1', {
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      enableReadyCheck: false,
      disableClientInfo: true,
      connectTimeout: PATIENCE,
      commandTimeout: PATIENCE,
    });
    // The command fails with it.
    client.on('error', () => undefined);
    return client.call(name, ...args).finally(() => client.disconnect());
  }

  /** One field of INFO, '' where it does not stand there. */
  async stat(section: string, field: string): Promise<string> {
    const info = String(await this.command('INFO', section));
    return new RegExp(`^${field}:(.*)\r$`, 'm').exec(info)?.[1] ?? '';
  }

  /**
   * Moves the server's clock by this many ms from its present time: at once, for TIME and key
   * expiry alike. Needs `fakeClock`.
   */
  shiftClock(offsetMs: number): Promise<void> {
    this.#clockOffset += offsetMs;
    writeClockOffset(join(this.directory, 'clock'), this.#clockOffset);
    return Promise.resolve();
  }
}
