import { setTimeout as sleep } from 'node:timers/promises';

import type { TestServer } from '../../test/support/redis-server.js';

export function ticketsKey(name: string): string {
  return `redsem:{${name}}:tickets`;
}

/** The server's own clock, in microseconds, as scores and fencing tokens count. */
export async function serverTime(server: TestServer): Promise<number> {
  const [seconds, microseconds] = (await server.command('TIME')) as [string, string];
  return Number(seconds) * 1e6 + Number(microseconds);
}

/** When a ticket expires by the server's clock, in microseconds; undefined when it is not there. */
export async function expiryOf(
  server: TestServer,
  name: string,
  id: string,
): Promise<number | undefined> {
  const score = (await server.command('ZSCORE', ticketsKey(name), id)) as string | null;
  return score === null ? undefined : Number(score);
}

/** The ids of tickets that have not expired by the server's clock. */
export async function liveTickets(server: TestServer, name: string): Promise<string[]> {
  const after = `(${await serverTime(server)}`;
  return (await server.command('ZRANGEBYSCORE', ticketsKey(name), after, '+inf')) as string[];
}

/** The semaphore's keys that stand on the server, without the part they share. */
export async function leftKeys(server: TestServer, name: string): Promise<string[]> {
  const start = `redsem:{${name}}:`;
  const keys = (await server.command('KEYS', '*')) as string[];
  return keys.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
}

/** Runs `action` again and again while `body` runs, with pauses of so many milliseconds; gives what both gave. */
export async function whileRepeating<T, R>(
  pause: number,
  action: () => Promise<R>,
  body: () => Promise<T>,
): Promise<{ value: T; results: R[] }> {
  const end = new AbortController();
  const results: R[] = [];
  const repeat = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await sleep(pause);
      results.push(await action());
    }
  };
  const running = body().finally(() => end.abort());
  const [value] = await Promise.all([running, repeat()]);
  return { value, results };
}
