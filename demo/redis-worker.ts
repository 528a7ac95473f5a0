import { createClient } from 'redis';

import { type ConnectedClient, runWorkerProcess } from './worker-process.js';

async function connect(url: string): Promise<ConnectedClient> {
  const client = createClient({ url });
  // Without a listener a lost connection would end the process; the semaphore copes with it.
  client.on('error', () => {});
  await client.connect();
  return { target: client, close: () => client.close() };
}

void runWorkerProcess(connect);
