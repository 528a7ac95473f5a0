import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { shiftedClockEnvironment } from './faketime.js';
import { hasExited, spawnOwned } from './owned-processes.js';
import { programOf } from './program-file.js';

export interface Message {
  readonly type: string;
  readonly data?: unknown;
}

export interface WorkerOptions {
  /** Milliseconds by which the worker's `Date` is off; its monotonic clock and timers stay true. */
  readonly wallClockOffset?: number;
}

export interface WorkerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Reader {
  readonly type: string | undefined;
  readonly resolve: (message: Message) => void;
  readonly reject: (error: Error) => void;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a TypeScript file in a Node process of its own; that file uses `worker-side.ts`. */
export function startWorker(
  script: URL | string,
  args?: unknown,
  options: WorkerOptions = {},
): WorkerProcess {
  const path = script instanceof URL || script.startsWith('file:') ? fileURLToPath(script) : script;
  const { wallClockOffset } = options;
  const clock = wallClockOffset === undefined ? {} : shiftedClockEnvironment(wallClockOffset);
  const child = spawnOwned(process.execPath, [...programOf(path)], {
    cwd: root,
    env: { ...process.env, ...clock, REDSEM_WORKER_ARGUMENTS: JSON.stringify(args ?? null) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  return new WorkerProcess(child);
}

export class WorkerProcess {
  /** All messages so far, in order. */
  readonly messages: Message[] = [];
  readonly exited: Promise<WorkerExit>;
  readonly #child: ChildProcess;
  readonly #unread: Message[] = [];
  readonly #readers = new Set<Reader>();
  #output = '';
  #over = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
    child.on('message', (message) => this.#receive(message as Message));
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', (error) => {
        this.#output += error.message;
        if (child.pid === undefined) resolve({ code: null, signal: null });
      });
    });
    void this.#watchEnd();
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** What the worker has written to stdout and stderr so far. */
  get output(): string {
    return this.#output;
  }

  /** Reaches the worker's `onMessage` listeners for `message.type`. */
  send(message: Message): void {
    this.#child.send(message);
  }

  /** The next message (of that type) that no earlier `next` has given; rejects once none can come. */
  next(type?: string): Promise<Message> {
    const index = this.#unread.findIndex((message) => matches(type, message));
    const [message] = index === -1 ? [] : this.#unread.splice(index, 1);
    if (message !== undefined) return Promise.resolve(message);
    if (this.#over) return Promise.reject(this.#describeEnd(type));
    return new Promise((resolve, reject) => {
      this.#readers.add({ type, resolve, reject });
    });
  }

  /** SIGKILL unless told otherwise. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  #receive(message: Message): void {
    this.messages.push(message);
    const reader = [...this.#readers].find(({ type }) => matches(type, message));
    if (reader === undefined) {
      this.#unread.push(message);
      return;
    }
    this.#readers.delete(reader);
    reader.resolve(message);
  }

  /** Messages and output may still be under way when the process has exited: waits for both to end. */
  async #watchEnd(): Promise<void> {
    const streamsEnded = new Promise<void>((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', () => hasExited(this.#child) && resolve());
    });
    const channelEnded = new Promise<void>((resolve) => {
      if (this.#child.connected) this.#child.once('disconnect', () => resolve());
      else resolve();
    });
    await Promise.all([this.exited, streamsEnded, channelEnded]);
    this.#over = true;
    for (const { type, reject } of this.#readers) reject(this.#describeEnd(type));
    this.#readers.clear();
  }

  #describeEnd(type: string | undefined): Error {
    const { exitCode, signalCode } = this.#child;
    const end = signalCode === null ? `exited with code ${exitCode}` : `ended by ${signalCode}`;
    return new Error(`worker ${end} before a '${type ?? 'any'}' message\n${this.#output}`);
  }
}

function matches(type: string | undefined, message: Message): boolean {
  return type === undefined || message.type === type;
}
