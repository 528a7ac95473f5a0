import { queryObjects } from 'node:v8';

import { KeyedSemaphore, MemoryBackend } from '../../../../src/index.js';
import { ManualClock } from '../../../../src/time/manual-clock.js';
import { report, workerArguments } from '../../../support/worker-side.js';

const { before, more } = workerArguments<{ before: number; more: number }>({ before: 0, more: 0 });
const backend = new MemoryBackend({ clock: new ManualClock() });
const keyed = new KeyedSemaphore(backend, { limit: 1, rate: { permits: 1, per: 1000 } });
await useKeys(0, before);
const counted = collections();
await useKeys(before, more);
report('added', collections() - counted);
process.disconnect();

async function useKeys(from: number, count: number): Promise<void> {
  for (let i = from; i < from + count; i += 1) await keyed.use(`key ${i}`, async () => {});
}

/** Maps and lists in the memory of this process. */
function collections(): number {
  return [Map, Array].reduce((sum, type) => sum + queryObjects(type, { format: 'count' }), 0);
}
