import { setTimeout as sleep } from 'node:timers/promises';
import { EventEmitter, getEventListeners } from 'node:events';

import { AcquireTimeoutError, type Clock, Semaphore, systemClock } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';

export interface WorkerArguments {
  readonly kind: 'redis' | 'ioredis';
  readonly url: string;
  readonly limit: number;
  readonly waiters: number;
}

/** The figures of a worker at one moment. */
export interface WorkerSample {
  /** In MiB or pieces. */
  readonly figures: Readonly<Record<string, number>>;
  /** Permits that it was granted so far. */
  readonly grants: number;
  /** Waits that timed out or were aborted so far. */
  readonly refusals: number;
}

const { kind, url, limit, waiters } = workerArguments<WorkerArguments>();
const client = await openClient(kind, url);
/** The timers of semaphores that are set. */
const timers = new Set<object>();
const clock: Clock = {
  ...systemClock,
  schedule(callback, delay, keepAlive) {
    const run = (): void => {
      timers.delete(timer);
      callback();
    };
    const timer = systemClock.schedule(run, delay, keepAlive);
    timers.add(timer);
    const cancel = (): void => {
      timers.delete(timer);
      timer.cancel();
    };
    return { ...timer, cancel };
  },
};
const options = { limit, clock, ttl: 10_000 };
const sem = new Semaphore(client.target, 'soak', options);
const end = new AbortController();
let [grants, refusals, round] = [0, 0, 0];

const allCallers = Promise.all(Array.from({ length: waiters }, (_, index) => live(index)));

onMessage('sample', () => report('sample', sample()));
onMessage('end', () => void finish());
report('ready');

async function live(index: number): Promise<void> {
  while (!end.signal.aborted) {
    round += 1;
    const turn = (index + round) % 20;
    await (turn === 2 && index % 50 === 0 ? shortLived() : ask(turn));
  }
}

/** Most requests hold for a moment; some are given up, by a timeout or a signal. */
async function ask(turn: number): Promise<void> {
  const giveUp = new AbortController();
  const timer = turn === 1 ? setTimeout(() => giveUp.abort(), 100) : undefined;
  try {
    const handle = await sem.acquire({
      signal: turn === 1 ? giveUp.signal : end.signal,
      ...(turn === 0 && { timeout: 20 + (round % 300) }),
    });
    grants += 1;
    if (grants % 10 === 0) handle.on('lost', () => undefined);
    if (turn > 1) await sleep(grants % 500 === 0 ? 4000 : 5);
    await handle.release();
  } catch (error) {
    if (!(error instanceof AcquireTimeoutError || error instanceof DOMException)) throw error;
    refusals += 1;
  } finally {
    clearTimeout(timer);
  }
}

/** Another semaphore, whose waiters are rejected by its end. */
async function shortLived(): Promise<void> {
  const own = new Semaphore(client.target, `soak-${round % 7}`, { ...options, limit: 1 });
  if ((await own.tryAcquire()) !== null) grants += 1;
  const waiting = own.acquire().catch(() => undefined);
  await own.close();
  await waiting;
}

function sample(): WorkerSample {
  // Twice: the second collection frees the objects that the first has finalized.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const figures = {
    'heap after collection': heapUsed / 2 ** 20,
    resident: rss / 2 ** 20,
    'timers of semaphores': timers.size,
    listeners: countListeners(),
  };
  return { figures, grants, refusals };
}

/** On the client, on the process and on the signal that all its waiters share. */
function countListeners(): number {
  const emitters = [client.target, process].filter((one) => one instanceof EventEmitter);
  const ofEmitters = emitters.flatMap((emitter) =>
    emitter.eventNames().map((event) => emitter.listenerCount(event)),
  );
  const ofSignal = getEventListeners(end.signal, 'abort').length;
  return ofEmitters.reduce((sum, count) => sum + count, ofSignal);
}

async function finish(): Promise<void> {
  end.abort();
  await allCallers;
  await sem.close();
  const left = timers.size;
  await client.close();
  report('end', left);
  process.exit(0);
}
