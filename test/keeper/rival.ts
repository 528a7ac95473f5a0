import { Redis } from 'ioredis';

import { Semaphore } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { workerArguments } from '../support/worker-side.js';

/** Sees the keeper renew a ticket, asks for its permit each time, and revokes the ticket then. */
const { port, name, id } = workerArguments<{ port: number; name: string; id: string }>();
const client = new Redis(port);
const semaphore = new Semaphore(client, name, { limit: 1 });
for (let time = 0, expiry = 0; time <= 5; time++) {
  const before = expiry;
  const look = async () => Number(await client.zscore(`redsem:{${name}}:tickets`, id));
  await eventually(async () => (expiry = await look()) > before);
  if ((await semaphore.tryAcquire()) !== null) throw new Error('the permit was free');
}
process.exit((await semaphore.revoke(id)) ? 0 : 1);
