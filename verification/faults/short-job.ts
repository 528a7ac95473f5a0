import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

import { MemoryBackend, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';

/** What has happened to its permit, its server or its subscribers when it closes its client. */
export type Ending =
  'released' | 'not released' | 'the server away' | 'subscribers closed while they connect';

export interface ShortJob {
  readonly client: 'redis' | 'ioredis' | 'memory';
  readonly url: string;
  readonly name: string;
  readonly ending: Ending;
}

const job = workerArguments<ShortJob>();
const memory = { target: new MemoryBackend(), close: () => Promise.resolve() };
const client = job.client === 'memory' ? memory : await openClient(job.client, job.url);
const options = { limit: 1, ttl: 60_000 };
const semaphore = new Semaphore(client.target, job.name, options);
const handle = await semaphore.acquire(5000);
if (job.ending === 'subscribers closed while they connect') {
  for (let round = 0; round < 20; round += 1) {
    const other = new Semaphore(client.target, job.name, options);
    const waiting = other.acquire().catch(() => undefined);
    for (let turns = 0; turns < 10 * round; turns += 1) await turn();
    await other.close();
    await waiting;
  }
  // What ends at once has ended before this has.
  await sleep(50);
  const timers = process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout');
  if (timers.length > 0) throw new Error('a closed subscriber has left a timer');
  await semaphore.close();
} else {
  // In vain, but it opens a subscriber connection, and is long enough for that to be there.
  await semaphore.acquire(300).catch(() => undefined);
}
if (job.ending === 'released' && !(await handle.release())) throw new Error('the permit was lost');
if (job.ending === 'the server away') {
  report('holding');
  await new Promise<void>((resolve) => onMessage('continue', () => resolve()));
  process.channel?.unref();
}
report('done');
await client.close();
