import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { report, workerArguments } from '../../test/support/worker-side.js';

/** Closes semaphores whose subscriber has just begun to connect, each a little later. */
const { kind, url } = workerArguments<{ kind: 'redis' | 'ioredis'; url: string }>();
const client = await openClient(kind, url);
const holder = new Semaphore(client.target, 'closing', { limit: 1 });
await holder.acquire();
for (let round = 0; round < 20; round += 1) {
  const semaphore = new Semaphore(client.target, 'closing', { limit: 1 });
  const waiting = semaphore.acquire().catch(() => undefined);
  for (let turns = 0; turns < 10 * round; turns += 1) await turn();
  await semaphore.close();
  await waiting;
}
// Whatever was to end at once has ended before this has.
await sleep(50);
const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
report('closed', timers);
await holder.close();
await client.close();
