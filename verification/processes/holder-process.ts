import {
  startWorker,
  type WorkerOptions,
  type WorkerProcess,
} from '../../test/support/worker-process.js';
import type { ClientKind } from '../../test/support/open-client.js';

export interface HolderArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly limit: number;
  readonly ttl: number;
}

export interface Acquired {
  readonly id: string;
  readonly slot: number;
  readonly token: number;
  /** Nanoseconds of the machine's monotonic clock. */
  readonly at: number;
}

export interface Lost {
  readonly id: string;
  readonly reason: string;
  readonly at: number;
  readonly held: boolean;
}

export interface Sample {
  readonly at: number;
  readonly held: boolean;
}

/** A process that holds or waits for permits until it is told otherwise, and that may be killed or stopped. */
export async function startHolder(
  args: HolderArguments,
  options?: WorkerOptions,
): Promise<WorkerProcess> {
  const worker = startWorker(new URL('holder-worker.ts', import.meta.url), args, options);
  await worker.next('ready');
  return worker;
}

export async function acquireIn(worker: WorkerProcess): Promise<Acquired> {
  worker.send({ type: 'acquire' });
  return (await worker.next('acquired')).data as Acquired;
}
