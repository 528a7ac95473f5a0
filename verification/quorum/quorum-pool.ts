import { type Interval } from '../processes/hold-intervals.js';
import type { ClientKind } from '../../test/support/open-client.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

/** What one worker process does with one semaphore. */
export interface Job {
  readonly name: string;
  readonly limit: number;
  /** How many callers acquire at the same time. */
  readonly contenders: number;
  /** How often each of them does. */
  readonly rounds: number;
  /** How long each holds its permit, in milliseconds. */
  readonly hold: number;
  /** Default 1. */
  readonly permits?: number;
}

export interface JobResult {
  readonly intervals?: readonly Interval[];
  /** Tries for single tickets, and calls, that the first node saw of this process. */
  readonly tries?: number;
  readonly calls?: number;
  readonly error?: string;
}

/** Worker processes over the same masters, each with clients of its own. */
export class QuorumPool {
  readonly #workers: readonly WorkerProcess[];

  static async start(kinds: readonly ClientKind[], urls: readonly string[]): Promise<QuorumPool> {
    const script = new URL('quorum-worker.ts', import.meta.url);
    const workers = kinds.map((kind) => startWorker(script, { kind, urls }));
    await Promise.all(workers.map((worker) => worker.next('ready')));
    return new QuorumPool(workers);
  }

  constructor(workers: readonly WorkerProcess[]) {
    this.#workers = workers;
  }

  /** The same job in every process at once. */
  async run(job: Job): Promise<Required<Omit<JobResult, 'error'>>> {
    const results = await Promise.all(
      this.#workers.map(async (worker) => {
        worker.send({ type: 'run', data: job });
        const result = (await worker.next('result')).data as JobResult;
        if (result.error !== undefined) throw new Error(result.error);
        return result;
      }),
    );
    return {
      intervals: results.flatMap(({ intervals }) => intervals ?? []),
      tries: results.reduce((sum, { tries }) => sum + (tries ?? 0), 0),
      calls: results.reduce((sum, { calls }) => sum + (calls ?? 0), 0),
    };
  }

  stop(): void {
    for (const worker of this.#workers) worker.kill();
  }
}
