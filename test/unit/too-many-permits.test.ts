import { expect } from 'chai';

import type { AcquireCall } from '../../src/backend.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { QuorumFixture } from '../quorum/quorum-fixture.js';
import { StubBackend, watch } from './stub-backend.js';

const RETRY = { min: 10, max: 200, factor: 2, jitter: false };

describe('more permits than there are', () => {
  function bench() {
    const backend = new StubBackend();
    const { clock } = backend;
    const over = (call: AcquireCall) => backend.verdicts(call, () => ({ kind: 'over', limit: 7 }));
    backend.onAcquire = over;
    const semaphore = new Semaphore(backend, 'jobs', { limit: 2, retry: RETRY });
    return { backend, clock, semaphore, over };
  }

  it('are asked for, and refused with the limit that the backend found', async () => {
    const { backend, clock, semaphore } = bench();
    for (const method of ['acquire', 'tryAcquire'] as const) {
      const outcome = watch(clock, semaphore[method]({ permits: 8 }));
      await clock.advance(0);
      expect(outcome.error).to.be.instanceOf(RangeError);
      expect(outcome.error).to.include({
        message: 'permits: expected at most the limit, 7, got 8',
      });
    }
    expect(backend.acquires).to.have.length(2);
    expect(backend.givenBack).to.deep.equal([]);
    expect(clock.timers).to.equal(0);
  });

  it('are withdrawn where an earlier call was not answered: it may yet queue them', async () => {
    const { backend, clock, semaphore, over } = bench();
    backend.onAcquire = (call, index) =>
      index === 0 ? Promise.reject(new Error('cut')) : over(call);
    const outcome = watch(clock, semaphore.acquire({ permits: 8 }));
    await clock.advance(50);
    expect(outcome.error).to.be.instanceOf(RangeError);
    expect(backend.givenBack).to.deep.equal([backend.acquires[0]?.call.requests[0]?.id]);
  });

  it('beyond what any ticket can have are refused before anything is sent', async () => {
    const { backend, clock, semaphore } = bench();
    const outcome = watch(clock, semaphore.acquire({ permits: 2 ** 24 + 1 }));
    await clock.advance(0);
    expect(outcome.error).to.include({ message: 'permits: expected 1 to 16777216, got 16777217' });
    expect(backend.acquires).to.deep.equal([]);
  });

  it('are measured by the limit of the process itself on a quorum, which is not asked', async () => {
    const quorum = new QuorumFixture(3, 2);
    expect(await quorum.tryFor('a.1.3', true)).to.deep.equal({ kind: 'over', limit: 2 });
    expect(await quorum.holders()).to.deep.equal([[], [], []]);
    expect(await quorum.tryFor('a.2.2')).to.include({ kind: 'granted' });
  });

  it('wait on where they were queued before the limit shrank', async () => {
    const backend = new MemoryBackend();
    const semaphore = new Semaphore(backend, 'jobs', { limit: 3 });
    const holder = await semaphore.acquire();
    const waiting = semaphore.acquire({ permits: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    await semaphore.setLimit(2);
    await holder.release();
    expect(await semaphore.inspect()).to.include({ waiting: 1, held: 0 });
    await semaphore.setLimit(3);
    expect((await waiting).slots).to.deep.equal([0, 1, 2]);
    await semaphore.close();
  });
});
