import { expect } from 'chai';

import type { Clock } from '../../src/clock.js';
import { ManualClock } from '../../src/manual-clock.js';
import { Semaphore } from '../../src/semaphore.js';
import { collectUntil } from '../support/garbage.js';
import { StubBackend } from './stub-backend.js';

describe('a session', () => {
  it('keeps nothing for a prefix that nobody uses any more', async () => {
    const backend = new StubBackend({ pushes: true });
    // The stub's list of listeners would keep them.
    const inboxes: WeakRef<object>[] = [];
    backend.listen = (_client, _prefix, listener) => {
      inboxes.push(new WeakRef(listener));
      return { close: () => Promise.resolve() };
    };
    for (const prefix of ['one', 'two']) await waitInVain(backend, prefix);
    expect(inboxes).to.have.length(2);
    const gone = (): boolean => inboxes.every((inbox) => inbox.deref() === undefined);
    await collectUntil(gone);
  });

  it('is not kept when its clock is dropped', async () => {
    const backend = new StubBackend();
    const clock = useOnce(backend);
    await collectUntil(() => clock.deref() === undefined);
    expect(backend.acquires).to.deep.equal([]);
  });

  async function waitInVain(backend: StubBackend, prefix: string): Promise<void> {
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1, prefix });
    const refused = semaphore.acquire(1000).catch(() => undefined);
    await backend.clock.advance(0);
    await semaphore.close();
    await refused;
    // What is set to run later must be over as well.
    await backend.clock.advance(60_000);
    backend.acquires.length = 0;
    backend.releases.length = 0;
  }

  function useOnce(backend: StubBackend): WeakRef<Clock> {
    const clock = new ManualClock();
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1, clock });
    expect(semaphore.limit).to.equal(1);
    return new WeakRef(clock);
  }
});
