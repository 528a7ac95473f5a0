import type { WorkerProcess } from '../../test/support/worker-process.js';
import { startWorker } from '../../test/support/worker-process.js';
import type { ClientKind } from '../../test/support/open-client.js';

export interface KeyedWorkerArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly stripes?: number;
}

/** What one worker process does, one round after the other. */
export interface KeyedRounds {
  readonly keys: readonly string[];
  readonly count: number;
  readonly timeout: number;
}

export interface KeyedRound {
  /** Milliseconds until all keys were held. */
  readonly waited: number;
  /** The most holders of one of the keys that the server counted. */
  readonly inside: number;
}

/** Processes with a keyed mutex of the same name. */
export async function startKeyedWorkers(
  all: readonly KeyedWorkerArguments[],
): Promise<WorkerProcess[]> {
  const workers = all.map((args) => startWorker(new URL('keyed-worker.ts', import.meta.url), args));
  await Promise.all(workers.map((worker) => worker.next('ready')));
  return workers;
}

export async function runRounds(worker: WorkerProcess, rounds: KeyedRounds): Promise<KeyedRound[]> {
  worker.send({ type: 'run', data: rounds });
  const { done, error } = (await worker.next('result')).data as {
    done: KeyedRound[];
    error?: string;
  };
  if (error !== undefined) throw new Error(`after ${done.length} rounds: ${error}`);
  return done;
}
