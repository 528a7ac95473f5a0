import { expect } from 'chai';

import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { startWorker } from '../../test/support/worker-process.js';

describe('a backend that is dropped while its semaphores are collected', () => {
  // V8 calls no FinalizationRegistry of a process any more after one was collected that had
  // something to report.
  it('leaves the FinalizationRegistry of everybody else working', async () => {
    const worker = startWorker(new URL('finalization-worker.ts', import.meta.url));
    expect((await worker.next('finalized')).data).to.equal(true);
    worker.kill();
  });
});

describe('a handle that is held for long', () => {
  it('gathers no listeners while those of others come and go', async () => {
    const clock = new ManualClock();
    const sem = new Semaphore(new MemoryBackend({ clock }), 'long', { limit: 1, ttl: 300 });
    const handle = await sem.acquire();
    const listener = (): void => undefined;
    for (let job = 0; job < 8; job += 1) {
      handle.on('lost', listener).off('lost', listener);
      // Extended once or twice between two jobs.
      await clock.advance(150);
    }
    expect(handle.held).to.equal(true);
    expect(handle.eventNames().filter((event) => handle.listenerCount(event) > 1)).to.be.empty;
    await sem.close();
    expect(clock.timers).to.equal(0);
  });
});
