import type { TestServer } from '../../test/support/redis-server.js';
import { ticketsKey } from './holder-count.js';

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

/** Tickets that have not expired by the server's clock. */
export async function liveTickets(server: TestServer, name: string): Promise<number> {
  const now = await serverTime(server);
  return Number(await server.command('ZCOUNT', ticketsKey(name), `(${now}`, '+inf'));
}
