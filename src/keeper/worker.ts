import { parentPort, workerData } from 'node:worker_threads';
import { describe } from '../error-causes.js';
import { threadClock } from '../time/clock.js';
import { connectBackend } from './keeper-client.js';
import type { ClientSource } from './keeper-options.js';
import type { Notice, Order } from './messages.js';
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
let isTroubled = false;
const notify = (notice: Notice): void => parentPort?.postMessage(notice);
const backend = await connectBackend(data.source, onOutcome);
const renewer = new Renewer({
  backend,
  maxStall: data.maxStall,
  clock: threadClock,
  shared: new SharedLeases(data.buffer),
  notify,
  onOutcome,
});
parentPort?.on('message', (orders: readonly Order[]) => {
  for (const order of orders) renewer.obey(order);
});

function onOutcome(error: unknown): void {
  if (error !== undefined && !isTroubled) notify({ what: 'trouble', text: describe(error) });
  isTroubled = error !== undefined;
}

function isWorkerData(given: unknown): given is WorkerData {
  return typeof given === 'object' && given !== null && 'buffer' in given;
}
