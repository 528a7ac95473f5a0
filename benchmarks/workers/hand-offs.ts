import type { Connection, Release } from '../peers/adapter.js';

const ttl = 600_000;
let held: Release | undefined;
let waiting: Promise<Release> | undefined;

/**
 * Before the first hand-off and after the last, a caller holds the only permit and another waits;
 * each release grants, and a further caller queues.
 */
export async function handOff(connection: Connection, name: string, count: number): Promise<void> {
  const ask = (): Promise<Release> => connection.acquire(name, 1, ttl);
  held ??= await ask();
  waiting ??= ask();
  for (let done = 0; done < count; done += 1) {
    const next = ask();
    await held();
    held = await waiting;
    waiting = next;
  }
}
