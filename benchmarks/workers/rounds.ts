import type { Connection, Release } from '../peers/adapter.js';

export interface RoundsTask {
  /** A semaphore for each caller, or one for all. */
  readonly names: readonly string[];
  readonly limit: number;
  readonly callers: number;
  readonly rounds: number;
  /** Of a semaphore with two budgets and a cap of groups. */
  readonly isRuled?: boolean;
}

/** No ticket is extended while the cost of a pair is counted. */
const ttl = 600_000;

/** All callers acquire in one turn of the event loop, then all release in one turn; repeated. */
export async function runRounds(connection: Connection, task: RoundsTask): Promise<void> {
  const { names, limit, callers, rounds, isRuled = false } = task;
  const wanted = Array.from({ length: callers }, (_, i) => names[i % names.length] ?? '');
  for (let round = 0; round < rounds; round += 1) {
    const taken = wanted.map((name) => acquireOne(connection, name, limit, isRuled));
    const releases = await Promise.all(taken);
    await Promise.all(releases.map((release) => release()));
  }
}

function acquireOne(
  connection: Connection,
  name: string,
  limit: number,
  isRuled: boolean,
): Promise<Release> {
  if (!isRuled) return connection.acquire(name, limit, ttl);
  if (connection.acquireUnderRules === undefined) throw new Error('this peer has no such rules');
  return connection.acquireUnderRules(name, limit, ttl);
}

/** Acquires all keys at once, all or none, and releases them; repeated. */
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
