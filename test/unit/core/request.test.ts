import { expect } from 'chai';

import { acquireAll, type Handle, MemoryBackend, Semaphore } from '../../../src/index.js';
import { CallTimeoutError } from '../../../src/time/call-timeout.js';
import { collectUntil } from '../../support/garbage.js';
import { never, StubBackend, watch } from '../stub-backend.js';
import { listeningFixture } from '../stub-fixture.js';

describe('a request', () => {
  it('forgets its callbacks once it is granted: they may refer to its own handle', async () => {
    const semaphore = new Semaphore(new MemoryBackend(), 'jobs', { limit: 1 });
    const handles: WeakRef<object>[] = [];
    const job = async (): Promise<void> => {
      const handle: Handle = await semaphore.acquire({ onWaiting: () => void handle });
      // Once it is renewed, the lease holds its handle weakly.
      await handle.extend();
      handles.push(new WeakRef(handle));
    };
    await job();
    await collectUntil(() => handles.every((ref) => ref.deref() === undefined));
    await semaphore.close();
  });

  it('asks again when a pushed grant shows that the clock of the server was stepped', async () => {
    const { backend, clock, waiting, id } = await listeningFixture({ ttl: 3000 });
    const before = backend.acquires.length;
    // A ticket lives for 3000 ms: a second ahead of the clock that the last reply showed.
    backend.push(id, 4000);
    await clock.advance(0);
    expect([waiting.done, backend.acquires.length - before]).to.deep.equal([false, 1]);
    backend.push(id, 3000);
    await clock.advance(0);
    expect(waiting.value).to.include({ held: true });
    await waiting.value?.release();
  });

  it('says that there was no reply also if it gathered behind calls that got none', async () => {
    const backend = new StubBackend();
    backend.onAcquire = () => never();
    const semaphore = new Semaphore(backend, 'jobs', { limit: 9, ttl: 3000 });
    const asking = [];
    for (let i = 0; i < 4; i += 1) {
      asking.push(watch(backend.clock, semaphore.acquire(600)));
      await backend.clock.advance(20);
    }
    await backend.clock.advance(1000);
    for (const { error } of asking)
      expect(error).to.have.property('cause').that.is.instanceOf(CallTimeoutError);
    await backend.clock.advance(10_000);
  });

  it('settles with others as one also if the backend throws at once', async () => {
    const backend = new StubBackend();
    Object.assign(backend, {
      acquireTogether: () => {
        throw new Error('at once');
      },
    });
    backend.onAcquire = (call) => backend.allGranted(call);
    const both = ['a', 'b'].map((name) => new Semaphore(backend, name, { limit: 1 }));
    const taking = watch(backend.clock, acquireAll(both, 1000));
    await backend.clock.advance(2000);
    expect(taking.done).to.equal(true);
    await taking.value?.release();
  });
});
