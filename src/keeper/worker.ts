import { parentPort, workerData } from 'node:worker_threads';
import { backendOf } from '../clients.js';
import { describe } from '../error-causes.js';
import { threadClock } from '../time/clock.js';
import type { ResolvedKeeper } from './keeper-options.js';
import type { Notice, Order } from './messages.js';
import { together } from './messages.js';
import { renewLeases } from './renewer.js';
import { SharedLeases } from './shared-leases.js';

/** How long a module may take to give a client before the keeper warns, in milliseconds. */
const LATE_MS = 5000;

/** The data that the holders' thread gives to the new thread. */
export interface WorkerData extends ResolvedKeeper {
  readonly buffer: SharedArrayBuffer;
}

// The thread of a keeper. Orders that come before a module has given its client wait in the port.
const options: unknown = workerData;
if (!isWorkerData(options)) throw new Error('only a Keeper starts this file');
let isTroubled = false;
const notify = together<Notice>((notices) => parentPort?.postMessage(notices));
const noClient = new Error('its module has given no client yet');
const late = threadClock.schedule(() => onOutcome(noClient), LATE_MS, true);
const client = await clientOf(options);
// Also the client of a module needs a listener: without a listener an error event ends the thread.
const on: unknown = Reflect.get(Object(client), 'on');
if (typeof on === 'function') Reflect.apply(on, client, ['error', onOutcome]);
const obey = renewLeases({
  backend: backendOf(client),
  maxStall: options.maxStall,
  clock: threadClock,
  shared: new SharedLeases(threadClock, options.buffer),
  notify,
  onOutcome,
});
parentPort?.on('message', (orders: readonly Order[]) => orders.forEach(obey));
late.cancel();
onOutcome(undefined);

/** Reports the outcome of a renewal, or an error event of the client. */
function onOutcome(error: unknown): void {
  const text = error === undefined ? undefined : describe(error);
  if ((text !== undefined) !== isTroubled) notify({ what: 'trouble', text });
  isTroubled = text !== undefined;
}

/** The client is never closed: it ends with its thread. */
async function clientOf({ ioredis, redis, module }: ResolvedKeeper): Promise<unknown> {
  if (ioredis !== undefined) return new (await import('ioredis')).Redis(ioredis);
  if (redis !== undefined) {
    const made = (await import('redis')).createClient(redis);
    made.connect().catch(onOutcome);
    return made;
  }
  const loaded: unknown = await import(String(module));
  const exported: unknown = Reflect.get(Object(loaded), 'default');
  // A compiler to CommonJS puts the default export one level deeper.
  const given: unknown = Reflect.get(Object(exported), 'default') ?? exported;
  return typeof given === 'function' ? Reflect.apply(given, undefined, []) : given;
}

function isWorkerData(given: unknown): given is WorkerData {
  return 'buffer' in Object(given);
}
