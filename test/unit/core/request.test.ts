import { expect } from 'chai';

import { type Handle, MemoryBackend, Semaphore } from '../../../src/index.js';
import { collectUntil } from '../../support/garbage.js';

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
});
