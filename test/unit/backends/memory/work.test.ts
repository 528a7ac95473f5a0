import { expect } from 'chai';

import { startWorker, type WorkerProcess } from '../../../support/worker-process.js';

/** V8 counts no block of optimised code, and optimises when the machine lets it: so never. */
const EXACT_COUNTS = ['--no-opt', '--no-sparkplug', '--no-flush-bytecode'];

describe('work of the memory backend', () => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  it('doubles with the waiters, the tickets and the permits, and grows no faster', async () => {
    const sizes = [500, 1000, 2000];
    worker = startWorker(new URL('work-worker.ts', import.meta.url), { sizes }, EXACT_COUNTS);
    for (const counts of (await worker.next('work')).data as number[][]) {
      const [first = NaN, second = NaN, third = NaN] = counts;
      // With log n of 500, 1000 and 2000: 2.2 and 2.2. A walk over all for each would give 4.
      for (const growth of [second / first, third / second]) expect(growth).to.be.within(1.8, 2.5);
    }
  });

  it('keeps no map and no list of a key that has a rate alone, beyond the first 1000', async () => {
    const keys = { before: 1100, more: 1000 };
    worker = startWorker(new URL('rest-worker.ts', import.meta.url), keys);
    // A semaphore with an empty queue has dozens.
    expect((await worker.next('added')).data).to.be.below(500);
  });
});
