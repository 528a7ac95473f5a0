import {
  startWorker,
  type WorkerOptions,
  type WorkerProcess,
} from '../../test/support/worker-process.js';
import type { BackoffOptions } from '../../src/index.js';
import type { Interval } from './hold-intervals.js';
import type { ClientKind } from '../../test/support/open-client.js';

/** What one worker process does with one semaphore. */
export interface Job {
  readonly name: string;
  readonly limit: number;
  /** How many callers acquire at the same time. */
  readonly tasks: number;
  /** Milliseconds between the first calls of two of them; default: all at once. */
  readonly apart?: number;
  /** How often each of them does. */
  readonly rounds?: number;
  /** How long each holds its permit, in milliseconds. */
  readonly hold: number;
  readonly ttl?: number;
  readonly timeout?: number;
  readonly retry?: Partial<BackoffOptions>;
  /** Whether holders are counted on the server; default: yes. */
  readonly count?: boolean;
}

export interface JobResult {
  readonly intervals?: readonly Interval[];
  readonly error?: string;
}

export interface Contender extends WorkerOptions {
  readonly kind: ClientKind;
  readonly url: string;
}

/** Worker processes, connected and ready to contend. */
export async function startContenders(contenders: readonly Contender[]): Promise<ContenderPool> {
  const workers = contenders.map(({ kind, url, ...options }) =>
    startWorker(new URL('contender-worker.ts', import.meta.url), { kind, url }, options),
  );
  await Promise.all(workers.map((worker) => worker.next('ready')));
  return new ContenderPool(workers);
}

export class ContenderPool {
  readonly workers: readonly WorkerProcess[];

  constructor(workers: readonly WorkerProcess[]) {
    this.workers = workers;
  }

  get size(): number {
    return this.workers.length;
  }

  /** Starts a job in every process; gives what each process reports, in the order of its tasks and rounds. */
  run(job: Job | ((worker: number) => Job)): Promise<(readonly Interval[])[]> {
    return Promise.all(
      this.workers.map((worker, index) =>
        runIn(worker, typeof job === 'function' ? job(index) : job),
      ),
    );
  }

  stop(): void {
    for (const worker of this.workers) worker.kill();
  }
}

/** Rejects when the process ends before it has reported. */
export async function runIn(worker: WorkerProcess, job: Job): Promise<readonly Interval[]> {
  worker.send({ type: 'run', data: job });
  const { intervals, error } = (await worker.next('result')).data as JobResult;
  if (intervals === undefined) throw new Error(error ?? 'no result');
  return intervals;
}
