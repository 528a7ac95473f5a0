import { fileURLToPath, pathToFileURL } from 'node:url';

import { programWithThread } from '../../../test/support/program-file.js';
import {
  startProgram,
  startWorker,
  type WorkerProcess,
} from '../../../test/support/worker-process.js';
import type { Workload } from './workload.js';

/** The thread of a keeper starts with a separate file. */
const [PROGRAM = '', THREAD = ''] = ['worker.ts', '../../../src/keeper/worker.ts'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
);

interface Member {
  readonly process: string;
  readonly worker: WorkerProcess;
  readonly ready: Promise<unknown>;
}

/** The worker processes of a run. A killed worker has a successor with a new name. */
export class Crew {
  readonly #seed: number;
  readonly #workload: Omit<Workload, 'process' | 'address' | 'seed'>;
  readonly #addressOf: (worker: number) => Workload['address'];
  readonly #members: Member[];
  /** The errors of workers that the run had not killed. */
  readonly problems: unknown[] = [];
  #started = 0;
  /** Permits that were held when a loop was blocked, and permits that were held at its end, too. */
  readonly stalls = { held: 0, kept: 0 };

  constructor(
    size: number,
    seed: number,
    workload: Omit<Workload, 'process' | 'address' | 'seed'>,
    addressOf: (worker: number) => Workload['address'],
  ) {
    this.#seed = seed;
    this.#workload = workload;
    this.#addressOf = addressOf;
    this.#members = Array.from({ length: size }, (_, index) => this.#start(index));
  }

  /** Resolves when all are at work. */
  async ready(): Promise<void> {
    await Promise.all(this.#members.map(({ ready }) => ready));
  }

  /** The names that the workers with these indexes go by now. */
  names(workers: readonly number[]): string[] {
    return workers.map((index) => this.#member(index).process);
  }

  /** Whether the label, host:pid, is that of a worker that lives. */
  isOf(label: string): boolean {
    return this.#members.some(({ worker }) => label.endsWith(`:${worker.pid}`));
  }

  pause(index: number): void {
    this.#member(index).worker.pause();
  }

  resume(index: number): void {
    this.#member(index).worker.resume();
  }

  /** Blocks its loop; resolves when that is over. */
  async stall(index: number, lasts: number): Promise<void> {
    const { worker } = this.#member(index);
    worker.send({ type: 'stall', data: lasts });
    const { data } = await worker.next('stalled');
    const [held = 0, kept = 0] = String(data).split(' ');
    this.stalls.held += Number(held);
    this.stalls.kept += Number(kept);
  }

  async kill(index: number): Promise<void> {
    const { worker } = this.#member(index);
    const dead = this.#members[index];
    this.#members[index] = this.#start(index);
    worker.kill();
    await dead?.worker.exited;
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

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no worker ${index}`);
    return member;
  }

  #start(index: number): Member {
    this.#started += 1;
    const process = `w${index}-${this.#started}`;
    const seed = this.#seed * 1000 + this.#started;
    const workload: Workload = {
      ...this.#workload,
      process,
      seed,
      address: this.#addressOf(index),
    };
    const worker = workload.keeper
      ? startProgram(programWithThread(PROGRAM, THREAD), workload)
      : startWorker(pathToFileURL(PROGRAM), workload);
    const ready = worker.next('ready');
    // Reported by `stop`, which waits for it again.
    ready.catch(() => undefined);
    return { process, worker, ready };
  }
}
