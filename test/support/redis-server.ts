import type { ChildProcess } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { movableClockEnvironment, writeClockOffset } from './faketime.js';
import { pickLoopbackPort } from './loopback-port.js';
import { untilExit } from './owned-processes.js';
import { findServer, type Launch, launchRedis, PortTakenError } from './redis-launch.js';
import { sendRespCommand } from './resp-command.js';
import { makeTemporaryFolder, removeTemporaryFolder } from './temporary-folder.js';

export { findServer } from './redis-launch.js';

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

/** A redis-server of one test's own, on a free loopback port, without data on disk. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const binary = findServer();
  if (binary === undefined) throw new Error('no redis-server found on PATH nor in REDIS_SERVER');
  const { args = [], fakeClock = false, sentinel = false, under = [] } = options;
  const directory = makeTemporaryFolder();
  const clock = join(directory, 'clock');
  try {
    if (fakeClock) writeClockOffset(clock, 0);
    const environment = fakeClock ? movableClockEnvironment(clock) : {};
    for (let attempt = 1; ; attempt += 1) {
      const port = await pickLoopbackPort();
      const launch = { binary, directory, environment, args, sentinel, under, port };
      try {
        return new TestServer(launch, await launchRedis(launch));
      } catch (error) {
        if (!(error instanceof PortTakenError) || attempt === 10) throw error;
      }
    }
  } catch (error) {
    await removeTemporaryFolder(directory);
    throw error;
  }
}

export class TestServer {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  readonly #launch: Launch;
  #child: ChildProcess;
  #clockOffset = 0;
  #stopped = false;

  constructor(launch: Launch, child: ChildProcess) {
    this.port = launch.port;
    this.url = `redis://127.0.0.1:${launch.port}`;
    this.directory = launch.directory;
    this.#launch = launch;
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Hangs the server; its sockets stay open. */
  pause(): void {
    // `npm run test:stress` keeps every owner of this file stopped.
    writeFileSync(join(this.directory, 'paused'), '');
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    rmSync(join(this.directory, 'paused'), { force: true });
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await untilExit(this.#child);
  }

  /**
   * Starts again on the same port with the same arguments and clock; kills first what still runs.
   */
  async restart(): Promise<void> {
    if (this.#stopped) throw new Error('a stopped server cannot restart: its folder is gone');
    await this.kill();
    rmSync(join(this.directory, 'paused'), { force: true });
    this.#child = await launchRedis(this.#launch);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.kill();
    await removeTemporaryFolder(this.directory);
  }

  /** One raw command over a separate connection; rejects on an error reply. */
  command(...args: string[]): Promise<unknown> {
    return sendRespCommand(this.port, args);
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
