import { expect } from 'chai';

import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';

describe('a handle that is held for long', () => {
  it('gathers no listeners of its own while others come and go', async () => {
    const clock = new ManualClock();
    const backend = new MemoryBackend({ clock });
    const sem = new Semaphore(backend, 'long', { limit: 1, ttl: 300 });
    const handle = await sem.acquire();
    const listener = (): void => undefined;
    for (let job = 0; job < 8; job += 1) {
      handle.on('lost', listener);
      handle.off('lost', listener);
      // Extended once or twice between two jobs.
      await clock.advance(150);
    }
    expect(handle.held).to.equal(true);
    for (const event of handle.eventNames()) {
      expect(handle.listenerCount(event), `listeners of ${event}`).to.be.at.most(1);
    }
    await sem.close();
    expect(clock.timers).to.equal(0);
  });
});
