import { once } from 'node:events';

import { Redis } from 'ioredis';

/** A connected client with default options. */
export async function openIoredis(url: string): Promise<Redis> {
  const client = new Redis(url);
  await once(client, 'ready');
  return client;
}
