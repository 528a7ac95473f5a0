import { expect } from 'chai';

import { type Handle, MemoryBackend, Semaphore } from '../../../src/index.js';
import { collectUntil } from '../../support/garbage.js';
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
});
