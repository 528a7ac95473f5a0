import type { TestServer } from '../../test/support/redis-server.js';
import type { OpenClient } from '../../test/support/open-client.js';

/**
 * Counts holders on the server beside the semaphore, and reads how many live tickets the semaphore has at that
 * moment by the server's own clock. Too many of either are seen: the one too many counts itself when it comes.
 */
const COUNT = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000.0 + time[2])
local seen = {
  holders = redis.call('HINCRBY', KEYS[1], 'inside', ARGV[1]),
  tickets = redis.call('ZCOUNT', KEYS[2], '(' .. now, '+inf'),
}
for what, number in pairs(seen) do
  if number > tonumber(redis.call('HGET', KEYS[1], what) or '0') then
    redis.call('HSET', KEYS[1], what, number)
  end
end
return seen.holders`;

export function ticketsKey(name: string): string {
  return `redsem:{${name}}:tickets`;
}

function countKey(name: string): string {
  return `count:${name}`;
}

/** `change`: 1 when a holder begins, -1 when it ends. Gives the number of holders then. */
export async function countHolders(
  client: OpenClient,
  name: string,
  change: 1 | -1,
): Promise<number> {
  return Number(await client.run(COUNT, [countKey(name), ticketsKey(name)], [String(change)]));
}

/** The most holders and the most live tickets that the server ever saw at once. */
export async function readPeaks(
  server: TestServer,
  name: string,
): Promise<{ holders: number; tickets: number }> {
  const reply = await server.command('HMGET', countKey(name), 'holders', 'tickets');
  const [holders, tickets] = (reply as string[]).map(Number);
  return { holders: holders ?? 0, tickets: tickets ?? 0 };
}

/** The semaphore's keys that stand on the server, without the part they share. */
export async function leftKeys(server: TestServer, name: string): Promise<string[]> {
  const start = `redsem:{${name}}:`;
  const keys = (await server.command('KEYS', '*')) as string[];
  return keys.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
}
