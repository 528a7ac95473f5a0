import { createClient } from 'redis';

import type { Connection } from './adapter.js';
import { redsemConnection } from './redsem.js';

export async function connect(url: string): Promise<Connection> {
  const client = await createClient({ url }).connect();
  return redsemConnection(client, () => client.destroy());
}
