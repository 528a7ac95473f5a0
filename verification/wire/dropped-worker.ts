import { type Handle, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { collectOften, collectUntil } from '../../test/support/garbage.js';
import { eventually } from '../../test/support/eventually.js';

export interface DroppedArguments {
  readonly url: string;
  readonly name: string;
}

/** Ticket ids, and which handles were garbage, by what was done with them; the codes of warnings; how many losses were told. */
export interface Dropped {
  readonly ids: Record<string, string>;
  readonly collected: string[];
  readonly warnings: string[];
  readonly lost: number;
}

/** Acquires handles and keeps none of them. */
const { url, name } = workerArguments<DroppedArguments>();
const client = await openClient('redis', url);
const sem = new Semaphore(client.target, name, { limit: 10, ttl: 2000 });
const warnings: string[] = [];
const ids: Record<string, string> = {};
const refs: Record<string, WeakRef<Handle>> = {};
let lost = 0;

process.on('warning', (warning: Error & { code?: string }) =>
  warnings.push(warning.code ?? warning.name),
);

const ways: Record<string, (handle: Handle) => unknown> = {
  plain: () => undefined,
  // Takes no part in the work of the handle: nobody would miss it.
  released: (handle) => handle.on('released', () => undefined),
  listened: (handle) => handle.on('lost', () => (lost += 1)),
  signalled: (handle) => handle.signal.addEventListener('abort', () => (lost += 1)),
  unheard: (handle) => {
    const listener = (): void => undefined;
    handle.on('lost', listener).off('lost', listener);
  },
  // Its listener comes when the handle was extended and none was there.
  late: async (handle) => {
    await handle.extend();
    handle.on('lost', () => (lost += 1));
  },
};
for (const [way, use] of Object.entries(ways)) await acquireAndDrop(way, use);
const gone = (way: string): boolean => refs[way]?.deref() === undefined;
await collectUntil(() => ['plain', 'released', 'unheard'].every(gone));
// What is to be kept gets every chance to go, too.
await collectOften(400);
report('dropped', {
  ids,
  collected: Object.keys(refs).filter(gone),
  warnings,
  lost,
} satisfies Dropped);
onMessage('lost?', () => void eventually(() => lost === 3).then(() => report('lost')));

async function acquireAndDrop(way: string, use: (handle: Handle) => unknown): Promise<void> {
  const handle = await sem.acquire();
  ids[way] = handle.id;
  refs[way] = new WeakRef(handle);
  await use(handle);
}
