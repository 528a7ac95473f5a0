import { type Handle, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import type { DroppedArguments, Dropped } from './dropped-report.js';
import { collectOften, collectUntil } from '../../test/support/garbage.js';
import { eventually } from '../../test/support/eventually.js';

/** Acquires handles and keeps none of them. */
const { kind, url, name, ttl } = workerArguments<DroppedArguments>();
const client = await openClient(kind, url);
const sem = new Semaphore(client.target, name, { limit: 10, ttl });
const warnings: string[] = [];
const refs: Record<string, WeakRef<Handle>> = {};
let lost = 0;

process.on('warning', (warning: Error & { code?: string }) =>
  warnings.push(warning.code ?? warning.name),
);

const ways: Record<string, (handle: Handle) => void> = {
  plain: () => undefined,
  // Takes no part in the work of the handle: nobody would miss it.
  released: (handle) => handle.on('released', () => undefined),
  listened: (handle) => handle.on('lost', () => (lost += 1)),
  signalled: (handle) => handle.signal.addEventListener('abort', () => (lost += 1)),
  unheard: (handle) => {
    const listener = (): void => undefined;
    handle.on('lost', listener).off('lost', listener);
  },
};

const ids: Record<string, string> = {};
for (const [way, use] of Object.entries(ways)) await acquireAndDrop(way, use);
await listenLater();
const gone = (way: string): boolean => refs[way]?.deref() === undefined;
await collectUntil(() => ['plain', 'released', 'unheard'].every(gone));
// What is to be kept gets every chance to go, too.
await collectOften(ttl / 5);
report('dropped', {
  ids,
  collected: Object.keys(refs).filter(gone),
  warnings,
  lost,
} satisfies Dropped);
onMessage(
  'lost?',
  () => void eventually(() => lost === 3, 'told of the loss').then(() => report('lost')),
);

async function acquireAndDrop(way: string, use: (handle: Handle) => void): Promise<void> {
  const handle = await sem.acquire();
  ids[way] = handle.id;
  refs[way] = new WeakRef(handle);
  use(handle);
}

/** Its listener comes when the handle was extended and none was there. */
async function listenLater(): Promise<void> {
  const handle = await sem.acquire();
  ids['late'] = handle.id;
  refs['late'] = new WeakRef(handle);
  await handle.extend();
  handle.on('lost', () => (lost += 1));
}
