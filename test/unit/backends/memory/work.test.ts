import { expect } from 'chai';

import { startWorker, type WorkerProcess } from '../../../support/worker-process.js';

describe('work of the memory backend', () => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  it('doubles with the waiters, the tickets and the permits, and grows no faster', async () => {
    worker = startWorker(new URL('work-worker.ts', import.meta.url), { sizes: [2000, 4000, 8000] });
    const counts = (await worker.next('work')).data as Record<string, number>[];
    for (const load of ['waiters', 'tickets', 'permits'] as const) {
      const [first = NaN, second = NaN, third = NaN] = counts.map((count) => count[load]);
      // With log n of 2000, 4000 and 8000: 2.2 and 2.2. A walk over all for each would give 4.
      expect(second / first, load).to.be.within(1.8, 2.5);
      expect(third / second, load).to.be.within(1.8, 2.5);
    }
  });
});
