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
const { source, maxStall, buffer }: WorkerData = workerData;
const backend = await connectBackend(source);
const renewer = new Renewer({
  backend,
  maxStall,
  clock: threadClock,
  shared: new SharedLeases(buffer),
  notify: (notice) => parentPort?.postMessage(notice),
});
parentPort?.on('message', (orders: readonly Order[]) => {
  for (const order of orders) renewer.obey(order);
});
