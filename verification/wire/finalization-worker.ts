import { setTimeout as sleep } from 'node:timers/promises';

import { KeyedMutex, MemoryBackend, Semaphore } from '../../src/index.js';
import { collectGarbage, collectUntil } from '../../test/support/garbage.js';
import { report } from '../../test/support/worker-side.js';

/** The program around redsem: called when an object of the program was collected. */
let told = false;
const theirs = new FinalizationRegistry<string>(() => (told = true));

/** Everything that redsem keeps for a backend, but by names only. */
let used: unknown[] = await use();
await sleep(10);
// First the values by names are collected, then the holders of the names, before a finalizer runs.
collectGarbage();
used = [];
collectGarbage();
await sleep(10);
watch();
await collectUntil(() => told);
report('finalized', told && used.length === 0);

async function use(): Promise<unknown[]> {
  const backend = new MemoryBackend();
  await new Semaphore(backend, 'jobs', { limit: 1 }).use(() => undefined);
  const mutex = new KeyedMutex(backend, { name: 'keys' });
  await mutex.use('key', () => undefined);
  return [backend, mutex];
}

function watch(): void {
  theirs.register({}, 'theirs');
}
