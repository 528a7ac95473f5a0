import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import type { Connection, Release } from '../peers/adapter.js';

export interface CrowdTask {
  readonly waiters: number;
  /** The semaphore that the crowd waits for. */
  readonly limit: number;
  /** How many permits a ticket of another semaphore takes at once. */
  readonly permits: number;
  /** For how long the waiters are watched, in ms. */
  readonly ms: number;
}

const ttl = 30_000;

/** How many callers ask in a turn of the event loop: to ask is work of the caller's loop. */
const batch = 1000;

const delay = monitorEventLoopDelay({ resolution: 1 });

/**
 * Lets a crowd wait, and takes many permits at once. Gives the longest time for which the event
 * loop was blocked, in ms: while the crowd comes, waits, and each in turn gets its permit and gives
 * it back, and while many permits are taken and given back.
 */
export async function runCrowd(connection: Connection, task: CrowdTask) {
  const { waiters, limit, permits, ms } = task;
  const all: Promise<boolean>[] = [];
  const keepAll = await connection.acquire('crowd', limit, ttl, { permits: limit });
  delay.enable();
  const queueing = await longestBlock(async () => {
    while (all.length < waiters) {
      for (let i = 0; i < batch; i += 1) all.push(pass(connection, limit));
      await nextTurn();
    }
    await sleep(ms / 3);
  });
  const waiting = await longestBlock(() => sleep(ms));
  const handingOn = await longestBlock(async () =>
    expectKept(await keepAll(), await Promise.all(all)),
  );
  let release: Release | undefined;
  const taking = await longestBlock(async () => {
    release = await connection.acquire('many', permits, ttl, { permits });
  });
  const givingBack = await longestBlock(async () => expectKept((await release?.()) === true));
  return { queueing, waiting, handingOn, taking, givingBack };
}

function expectKept(...kept: readonly (boolean | readonly boolean[])[]): void {
  if (kept.flat().includes(false)) throw new Error('a permit was lost while it was held');
}

async function pass(connection: Connection, limit: number): Promise<boolean> {
  const release = await connection.acquire('crowd', limit, ttl);
  return release();
}

async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  delay.reset();
  // The first timer only begins the count.
  await sleep(20);
  await work();
  // The first timer after a block shows its length.
  await sleep(20);
  return delay.max / 1e6;
}
