import { expect } from 'chai';

import { startWorker } from '../../../support/worker-process.js';

/** V8 counts no block of optimised code, and would optimise whenever the machine lets it. */
const EXACT_COUNTS = ['--no-opt', '--no-sparkplug', '--no-flush-bytecode'];

it('work of the memory backend doubles with its waiters, tickets and permits', async () => {
  const worker = startWorker(new URL('work-worker.ts', import.meta.url), null, EXACT_COUNTS);
  for (const counts of (await worker.next('work')).data as number[][]) {
    const [first = NaN, second = NaN, third = NaN] = counts;
    // With log n of 250, 500 and 1000: 2.3 and 2.2. A walk over all for each would give 4.
    for (const growth of [second / first, third / second]) expect(growth).to.be.within(1.8, 2.5);
  }
});
