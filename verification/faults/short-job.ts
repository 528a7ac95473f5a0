import { MemoryBackend, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';

/** The fault of its permit or its server before it closes its client. */
export type Ending = 'released' | 'not released' | 'the server away';

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
// In vain, but it opens a subscriber connection, and is long enough for that to be there.
await semaphore.acquire(300).catch(() => undefined);
if (job.ending === 'released' && !(await handle.release())) throw new Error('the permit was lost');
if (job.ending === 'the server away') {
  report('holding');
  await new Promise<void>((resolve) => onMessage('continue', () => resolve()));
  process.channel?.unref();
}
report('done');
await client.close();
