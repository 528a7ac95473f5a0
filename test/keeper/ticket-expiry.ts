import type { TestServer } from '../support/redis-server.js';

/** Server time in microseconds at which a ticket expires; without an id that of the first. */
export async function expiryOf(server: TestServer, name: string, id?: string): Promise<number> {
  const key = `redsem:{${name}}:tickets`;
  const found = (await server.command('ZRANGE', key, '0', '-1', 'WITHSCORES')) as string[];
  const index =
    id === undefined ? found.findIndex((each) => each.includes('.')) : found.indexOf(id);
  return Number(found[index + 1]);
}
