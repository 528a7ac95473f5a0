import { expect } from 'chai';

import { startWorker } from '../../test/support/worker-process.js';

describe('a backend that is dropped while its semaphores are collected', () => {
  // V8 calls no FinalizationRegistry of a process any more after one was collected that had
  // something to report.
  it('leaves the FinalizationRegistry of the program working', async () => {
    const worker = startWorker(new URL('finalization-worker.ts', import.meta.url));
    expect((await worker.next('finalized')).data).to.equal(true);
    worker.kill();
  });
});
