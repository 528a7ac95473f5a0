import type { Connection } from '../peers/adapter.js';

export interface RoundsTask {
  /** A semaphore for each caller, or one for all. */
  readonly names: readonly string[];
  readonly limit: number;
  readonly callers: number;
  readonly rounds: number;
}

/** No ticket is extended while the cost of a pair is counted. */
const ttl = 600_000;

export async function runRounds(connection: Connection, task: RoundsTask): Promise<void> {
  const { names, limit, callers, rounds } = task;
  const wanted = Array.from({ length: callers }, (_, i) => names[i % names.length] ?? '');
  for (let round = 0; round < rounds; round += 1) {
    const taken = wanted.map((name) => connection.acquire(name, limit, ttl));
    const releases = await Promise.all(taken);
    await Promise.all(releases.map((release) => release()));
  }
}

export async function runKeyRounds(
  connection: Connection,
  keys: readonly string[],
  rounds: number,
): Promise<void> {
  if (connection.acquireKeys === undefined) throw new Error('this peer takes one key at a time');
  for (let round = 0; round < rounds; round += 1) {
    const release = await connection.acquireKeys(keys, ttl);
    await release();
  }
}
