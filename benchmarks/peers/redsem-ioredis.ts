import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';
import { redsemConnection } from './redsem.js';

export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  return redsemConnection(client, () => client.disconnect());
}
