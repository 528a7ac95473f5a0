import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

import { KeyedMutex, MemoryBackend, Semaphore } from '../../src/index.js';
import { collectGarbage, collectUntil } from '../../test/support/garbage.js';

/** Everything that redsem keeps for a backend, but by names only. */
async function use(): Promise<unknown[]> {
  const backend = new MemoryBackend();
  await new Semaphore(backend, 'jobs', { limit: 1 }).use(() => undefined);
  const mutex = new KeyedMutex(backend, { name: 'keys' });
  await mutex.use('key', () => undefined);
  return [backend, mutex];
}

describe('a backend that is dropped while its semaphores are collected', () => {
  // V8 calls no FinalizationRegistry of a process any more after one was collected that had
  // something to report.
  it('leaves the FinalizationRegistry of the program working', async () => {
    let told = false;
    const theirs = new FinalizationRegistry<string>(() => (told = true));
    const watch = (): void => theirs.register({}, 'theirs');
    let used = await use();
    await sleep(10);
    // First the values by names are collected, then the holders of the names, before a finalizer
    // runs.
    collectGarbage();
    expect(used.splice(0)).to.have.length(2);
    used = [];
    collectGarbage();
    await sleep(10);
    watch();
    await collectUntil(() => told);
  });
});
