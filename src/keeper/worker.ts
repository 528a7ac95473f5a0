import { parentPort, workerData } from 'node:worker_threads';
import { threadClock } from '../time/clock.js';
import { connectBackend } from './keeper-client.js';
import type { ClientSource } from './keeper-options.js';
import type { Order } from './messages.js';
import { Renewer } from './renewer.js';
import { SharedLeases } from './shared-leases.js';

/** What the thread of the holders gives to the new thread. */
export interface WorkerData {
  readonly source: ClientSource;
  readonly maxStall: number;
  readonly buffer: SharedArrayBuffer;
}

// The thread of a keeper. Orders that come before its client is connected wait in the port.
const data: unknown = workerData;
if (!isWorkerData(data)) throw new Error('only a Keeper starts this file');
const backend = await connectBackend(data.source);
const renewer = new Renewer({
  backend,
  maxStall: data.maxStall,
  clock: threadClock,
  shared: new SharedLeases(data.buffer),
  notify: (notice) => parentPort?.postMessage(notice),
});
parentPort?.on('message', (orders: readonly Order[]) => {
  for (const order of orders) renewer.obey(order);
});

function isWorkerData(given: unknown): given is WorkerData {
  return typeof given === 'object' && given !== null && 'buffer' in given;
}
