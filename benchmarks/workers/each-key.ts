import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { Connection, Release } from '../peers/adapter.js';

export interface EachKeyTask {
  readonly keys: number;
  readonly limit: number;
  /** How many permits are asked for at the same time. */
  readonly width: number;
}

/** No ticket is extended while bytes are counted. */
const ttl = 600_000;

setFlagsFromString('--expose-gc');
const gc: unknown = runInNewContext('gc');

/**
 * Takes a permit of each key and gives it back, then takes all and keeps them. Bytes are in the
 * heap for each key, after a garbage collection.
 */
export async function runEachKey(connection: Connection, task: EachKeyTask) {
  const { keys, limit, width } = task;
  const acquire = (key: string): Promise<Release> =>
    connection.acquireKey?.(key, limit, ttl) ?? connection.acquire(key, limit, ttl);
  // The first calls load scripts and code.
  await inTurns(width, width, async (i) => (await acquire(`warm-up-${i}`))());
  const empty = await heapUsed();
  const from = performance.now();
  await inTurns(keys, width, async (i) => (await acquire(`key-${i}`))());
  const usPerPair = ((performance.now() - from) * 1000) / keys;
  const unused = await heapUsed();
  const held: Release[] = [];
  await inTurns(keys, width, async (i) => {
    held.push(await acquire(`key-${i}`));
  });
  const full = await heapUsed();
  await inTurns(keys, width, async (i) => held[i]?.());
  return {
    usPerPair,
    unusedBytes: (unused - empty) / keys,
    heldBytes: (full - unused) / keys,
  };
}

async function inTurns(
  count: number,
  width: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < count; first += width) {
    const size = Math.min(width, count - first);
    await Promise.all(Array.from({ length: size }, (_, i) => work(first + i)));
  }
}

/** Gives finalizers a moment after a garbage collection. */
async function heapUsed(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    if (typeof gc === 'function') Reflect.apply(gc, undefined, []);
    await sleep(50);
  }
  return process.memoryUsage().heapUsed;
}
