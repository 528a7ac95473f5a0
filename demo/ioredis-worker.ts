import { Redis } from 'ioredis';

import { type ConnectedClient, runWorkerProcess } from './worker-process.js';

async function connect(url: string): Promise<ConnectedClient> {
  const client = new Redis(url, { lazyConnect: true });
  // Without a listener every lost connection would be printed; the semaphore copes with it.
  client.on('error', () => {});
  await client.connect();
  return { target: client, close: () => client.quit() };
}

void runWorkerProcess(connect);
