import type { Connection, Release } from '../peers/adapter.js';

export interface RotationTask {
  readonly name: string;
  readonly limit: number;
  /** How many permits stay held. */
  readonly held: number;
  readonly count: number;
}

const ttl = 600_000;
const releases: Release[] = [];

/** Each permit that is taken is followed by the release of the oldest: the lowest slot is free. */
export async function rotate(
  connection: Connection,
  { name, limit, held, count }: RotationTask,
): Promise<void> {
  const take = async () => void releases.push(await connection.acquire(name, limit, ttl));
  while (releases.length < held) await take();
  for (let done = 0; done < count; done += 1) {
    await take();
    await releases.shift()?.();
  }
}
