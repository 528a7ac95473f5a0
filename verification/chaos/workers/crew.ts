import { fileURLToPath } from 'node:url';

import { sourcesOf } from '../../../test/support/program-file.js';
import {
  startProgram,
  startWorker,
  type WorkerProcess,
} from '../../../test/support/worker-process.js';
import type { Workload } from './workload.js';

/** What is the same for all workers, and how each differs. */
export interface CrewOptions {
  readonly size: number;
  readonly seed: number;
  readonly workload: Omit<Workload, 'process' | 'address' | 'seed'>;
  readonly addressOf: (worker: number) => Workload['address'];
}

interface Member {
  readonly process: string;
  readonly worker: WorkerProcess;
  readonly ready: Promise<unknown>;
}

/** The worker processes of a run; one that is killed has a successor with a new name. */
export class Crew {
  readonly #options: CrewOptions;
  readonly #members: Member[];
  readonly #problems: Error[] = [];
  #started = 0;
  /** Permits that were held when a loop was blocked, and those that were held at its end, too. */
  readonly stalls = { held: 0, kept: 0 };

  constructor(options: CrewOptions) {
    this.#options = options;
    this.#members = Array.from({ length: options.size }, (_, index) => this.#start(index));
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

  /** Lets all end what they are doing, and close. */
  async stop(within: number): Promise<void> {
    await this.ready();
    for (const { worker } of this.#members) worker.send({ type: 'stop' });
    const late = setTimeout(() => this.killAll(), within);
    const ends = this.#members.map(({ worker }) => worker.next('stopped'));
    const results = await Promise.allSettled(ends);
    clearTimeout(late);
    for (const result of results) {
      if (result.status === 'rejected') this.#problems.push(asError(result.reason));
    }
    this.killAll();
  }

  /** SIGKILL also ends those that stand still. */
  killAll(): void {
    for (const { worker } of this.#members) worker.kill();
  }

  /** What went wrong with workers that nobody had killed. */
  get problems(): readonly Error[] {
    return this.#problems;
  }

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no worker ${index}`);
    return member;
  }

  #start(index: number): Member {
    const { addressOf } = this.#options;
    this.#started += 1;
    const process = `w${index}-${this.#started}`;
    const seed = this.#options.seed * 1000 + this.#started;
    const workload: Workload = {
      ...this.#options.workload,
      process,
      seed,
      address: addressOf(index),
    };
    const program = new URL('worker.ts', import.meta.url);
    // The thread of a keeper starts with a separate file.
    const worker = workload.keeper
      ? startProgram(sourcesOf(fileURLToPath(program)), workload)
      : startWorker(program, workload);
    const ready = worker.next('ready');
    // Reported by `stop`, which waits for it again.
    ready.catch(() => undefined);
    return { process, worker, ready };
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
