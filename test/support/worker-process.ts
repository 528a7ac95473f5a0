import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Program } from '../tooling/run-program.js';
import { programOf } from './program-file.js';

export interface Message {
  readonly type: string;
  readonly data?: unknown;
}

type Variables = Readonly<Record<string, string>>;

/**
 * Runs a TypeScript file in a separate Node process; that file uses `worker-side.ts`. `flags` are
 * Node's.
 */
export function startWorker(
  script: URL,
  args: unknown = null,
  flags: readonly string[] = [],
  env: Variables = {},
): WorkerProcess {
  return startProgram([...flags, ...programOf(fileURLToPath(script))], args, env);
}

/** The same with the arguments of Node itself. */
export function startProgram(words: readonly string[], args: unknown, env: Variables = {}) {
  const variables = { REDSEM_WORKER_ARGUMENTS: JSON.stringify(args), ...env };
  return new WorkerProcess([process.execPath, ...words], variables);
}

export class WorkerProcess extends Program {
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly #unread: Message[] = [];
  readonly #news = new EventEmitter().setMaxListeners(0);
  #over = false;

  constructor(command: readonly string[], env: Variables = {}) {
    super(command, { env, ipc: true });
    this.child.on('message', (message) => {
      this.#unread.push(message as Message);
      this.#news.emit('news');
    });
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    void this.#watchEnd();
  }

  /** Messages and output may still be under way when the process has exited. */
  async #watchEnd(): Promise<void> {
    await Promise.all([this.result, once(this.child, 'disconnect')]);
    this.#over = true;
    this.#news.emit('news');
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  /** Reaches the worker's `onMessage` listeners for `message.type`. */
  send(message: Message): void {
    this.child.send(message);
  }

  /**
   * The next message (of that type) that no earlier `next` has given; rejects once none can come.
   */
  async next(type?: string): Promise<Message> {
    for (;;) {
      const index = this.#unread.findIndex((each) => type === undefined || each.type === type);
      const [message] = index === -1 ? [] : this.#unread.splice(index, 1);
      if (message !== undefined) return message;
      if (this.#over) {
        const { code, signal } = await this.result;
        const end = `worker ended with ${signal ?? code} before a '${type ?? 'any'}' message`;
        throw new Error(`${end}\n${this.output}`);
      }
      await once(this.#news, 'news');
    }
  }

  /** SIGKILL by default. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.child.kill(signal);
  }

  pause(): void {
    this.kill('SIGSTOP');
  }

  resume(): void {
    this.kill('SIGCONT');
  }
}
