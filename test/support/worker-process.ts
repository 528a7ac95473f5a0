import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { spawnOwned } from './owned-processes.js';
import { programOf } from './program-file.js';

export interface Message {
  readonly type: string;
  readonly data?: unknown;
}

/**
 * Runs a TypeScript file in a separate Node process; that file uses `worker-side.ts`. `flags` are
 * Node's.
 */
export function startWorker(
  script: URL,
  args: unknown = null,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): WorkerProcess {
  return startProgram([...flags, ...programOf(fileURLToPath(script))], args, env);
}

/** The same with the arguments of Node itself. */
export function startProgram(
  words: readonly string[],
  args: unknown,
  env: Readonly<Record<string, string>> = {},
): WorkerProcess {
  const child = spawnOwned(process.execPath, words, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, REDSEM_WORKER_ARGUMENTS: JSON.stringify(args), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  return new WorkerProcess(child);
}

export class WorkerProcess {
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** What the worker has written to stdout and stderr so far. */
  output = '';
  readonly #child: ChildProcess;
  readonly #unread: Message[] = [];
  readonly #news = new EventEmitter().setMaxListeners(0);
  #over = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    child.on('message', (message) => {
      this.#unread.push(message as Message);
      this.#news.emit('news');
    });
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    void this.#watchEnd();
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Reaches the worker's `onMessage` listeners for `message.type`. */
  send(message: Message): void {
    this.#child.send(message);
  }

  /**
   * The next message (of that type) that no earlier `next` has given; rejects once none can come.
   */
  async next(type?: string): Promise<Message> {
    for (;;) {
      const index = this.#unread.findIndex((one) => type === undefined || one.type === type);
      const [message] = index === -1 ? [] : this.#unread.splice(index, 1);
      if (message !== undefined) return message;
      if (this.#over) throw this.#describeEnd(type);
      await once(this.#news, 'news');
    }
  }

  /** SIGKILL by default. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /**
   * Messages and output may still be under way when the process has exited: waits for both to end.
   */
  async #watchEnd(): Promise<void> {
    const ends = ['close', 'disconnect'].map(
      (event) => new Promise((resolve) => this.#child.once(event, resolve)),
    );
    await Promise.all(ends);
    this.#over = true;
    this.#news.emit('news');
  }

  #describeEnd(type: string | undefined): Error {
    const { exitCode, signalCode } = this.#child;
    const end = signalCode === null ? `exited with code ${exitCode}` : `ended by ${signalCode}`;
    return new Error(`worker ${end} before a '${type ?? 'any'}' message\n${this.output}`);
  }
}
