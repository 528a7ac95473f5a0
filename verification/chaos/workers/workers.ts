import { fileURLToPath, pathToFileURL } from 'node:url';

import { programWithThread } from '../../../test/support/program-file.js';
import {
  startProgram,
  startWorker,
  type WorkerProcess,
} from '../../../test/support/worker-process.js';
import type { Address } from '../topologies/connect.js';
import type { WorkerArguments } from './worker.js';

/** The thread of a keeper starts with a separate file. */
const [PROGRAM = '', THREAD = ''] = ['worker.ts', '../../../src/keeper/worker.ts'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
);

type Shared = Omit<WorkerArguments, 'process' | 'address'>;

interface Member {
  readonly process: string;
  readonly worker: WorkerProcess;
  readonly ready: Promise<unknown>;
}

/** The worker processes of a run. A killed worker has a successor with a new name. */
export class Workers {
  readonly #shared: Shared;
  readonly #addressOf: (worker: number) => Address;
  readonly #members: Member[];
  /** The errors of workers that the run had not killed. */
  readonly problems: unknown[] = [];
  #started = 0;
  /** Permits that were held when a loop was blocked, and permits that were held at its end, too. */
  readonly stalls = { held: 0, kept: 0 };

  constructor(size: number, shared: Shared, addressOf: (worker: number) => Address) {
    this.#shared = shared;
    this.#addressOf = addressOf;
    this.#members = Array.from({ length: size }, (_, index) => this.#start(index));
  }

  /** Resolves when all are at work. */
  ready(): Promise<unknown> {
    return Promise.all(this.#members.map(({ ready }) => ready));
  }

  /** The present names of the workers with these indexes. */
  names(workers: readonly number[]): string[] {
    return workers.map((index) => this.member(index).process);
  }

  /** Whether a worker of that name lives. */
  includes(name: string): boolean {
    return this.#members.some(({ process }) => process === name);
  }

  /** Blocks its loop; resolves when that is over. */
  async stall(index: number, lasts: number): Promise<void> {
    const { worker } = this.member(index);
    worker.send({ type: 'stall', data: lasts });
    const { data } = await worker.next('stalled');
    const [held = 0, kept = 0] = String(data).split(' ');
    this.stalls.held += Number(held);
    this.stalls.kept += Number(kept);
  }

  async kill(index: number): Promise<void> {
    const { worker } = this.member(index);
    this.#members[index] = this.#start(index);
    worker.kill();
    await worker.exited;
  }

  /** Lets all workers finish, and close. */
  async stop(within: number): Promise<void> {
    await this.ready();
    for (const { worker } of this.#members) worker.send({ type: 'stop' });
    const late = setTimeout(() => this.killAll(), within);
    const ends = this.#members.map(({ worker }) => worker.next('stopped'));
    const results = await Promise.allSettled(ends);
    clearTimeout(late);
    for (const result of results) {
      if (result.status === 'rejected') this.problems.push(result.reason);
    }
    this.killAll();
  }

  /** SIGKILL also ends stopped processes. */
  killAll(): void {
    for (const { worker } of this.#members) worker.kill();
  }

  member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no worker ${index}`);
    return member;
  }

  #start(index: number): Member {
    this.#started += 1;
    const process = `w${index}-${this.#started}`;
    const args: WorkerArguments = { ...this.#shared, process, address: this.#addressOf(index) };
    const worker = args.keeper
      ? startProgram(programWithThread(PROGRAM, THREAD), args)
      : startWorker(pathToFileURL(PROGRAM), args);
    const ready = worker.next('ready');
    // Reported by `stop`, which waits for it again.
    ready.catch(() => undefined);
    return { process, worker, ready };
  }
}
