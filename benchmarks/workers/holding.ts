import { setTimeout as sleep } from 'node:timers/promises';

import type { Connection, Release } from '../peers/adapter.js';

export interface HoldTask {
  readonly names: readonly string[];
  readonly limit: number;
  /** The number of permits, over all names in turn. */
  readonly count: number;
  readonly ttl: number;
  /** Pause between two permits; 0: none. */
  readonly gapMs: number;
}

/** How many permits are asked for at the same time. */
const batch = 500;

const releases: Release[] = [];

/** Takes permits, and keeps them. */
export async function hold(connection: Connection, task: HoldTask): Promise<void> {
  const { names, limit, count, ttl, gapMs } = task;
  const width = gapMs > 0 ? 1 : batch;
  for (let first = 0; first < count; first += width) {
    const size = Math.min(width, count - first);
    const wanted = Array.from({ length: size }, (_, i) => names[(first + i) % names.length] ?? '');
    const taken = wanted.map((name) => connection.acquire(name, limit, ttl));
    releases.push(...(await Promise.all(taken)));
    if (gapMs > 0) await sleep(gapMs);
  }
}

/** Releases these permits; gives how many had been lost. */
export async function letGo(): Promise<number> {
  const held = await Promise.all(releases.splice(0).map((release) => release()));
  return held.filter((stillHeld) => !stillHeld).length;
}
