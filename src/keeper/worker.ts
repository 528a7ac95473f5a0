import { parentPort, workerData } from 'node:worker_threads';
import { backendOf } from '../clients.js';
import { describe } from '../error-causes.js';
import { threadClock } from '../time/clock.js';
import type { KeeperTerms } from './keeper-options.js';
import type { Notice, Order } from './messages.js';
import { together } from './messages.js';
import { renewLeases } from './renewer.js';
import { SharedLeases } from './shared-leases.js';

/** For how long a module may take to give a client before that is a trouble, in milliseconds. */
const LATE_MS = 5000;

/** What the thread of the holders gives to the new thread. */
export interface WorkerData extends KeeperTerms {
  readonly buffer: SharedArrayBuffer;
}

// The thread of a keeper. Orders that come before a module has given its client wait in the port.
if (!isWorkerData(workerData)) throw new Error('only a Keeper starts this file');
let isTroubled = false;
const notify = together<Notice>((notices) => parentPort?.postMessage(notices));
const noClient = new Error('its module has given no client yet');
const late = threadClock.schedule(() => onOutcome(noClient), LATE_MS, true);
const obey = renewLeases({
  backend: backendOf(await clientOf(workerData)),
  maxStall: workerData.maxStall,
  clock: threadClock,
  shared: new SharedLeases(threadClock, workerData.buffer),
  notify,
  onOutcome,
});
parentPort?.on('message', (orders: readonly Order[]) => orders.forEach(obey));
late.cancel();
onOutcome(undefined);

/** Also of what a client reports, from its first try to connect on. */
function onOutcome(error: unknown): void {
  const text = error === undefined ? undefined : describe(error);
  if ((text !== undefined) !== isTroubled) notify({ what: 'trouble', text });
  isTroubled = text !== undefined;
}

/** It is never closed: it ends with its thread. */
async function clientOf({ ioredis, redis, module }: KeeperTerms): Promise<unknown> {
  if (ioredis !== undefined) {
    const { Redis } = await import('ioredis');
    return new Redis(ioredis).on('error', onOutcome);
  }
  if (redis !== undefined) {
    const { createClient } = await import('redis');
    const client = createClient(redis).on('error', onOutcome);
    client.connect().catch(onOutcome);
    return client;
  }
  const loaded: unknown = await import(String(module));
  const made: unknown = Reflect.get(Object(loaded), 'default');
  // A compiler that makes CommonJS puts the default export one level deeper.
  const given: unknown = Reflect.get(Object(made), 'default') ?? made;
  return isMaker(given) ? given() : given;
}

function isMaker(given: unknown): given is () => unknown {
  return typeof given === 'function';
}

function isWorkerData(given: unknown): given is WorkerData {
  return typeof given === 'object' && given !== null && 'buffer' in given;
}
