import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('a grant to a request that was given up', () => {
  it('is withdrawn, for its call may have run after its withdrawal, and its reply may be lost', async () => {
    const backend = new StubBackend({ pushes: true });
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const controller = new AbortController();
    const lasting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    backend.onAcquire = () => new Promise(() => {});
    const aborted = watch(clock, semaphore.acquire({ signal: controller.signal }));
    await clock.advance(1);
    const id = backend.acquires.at(-1)?.call.requests.at(-1)?.id ?? '';
    controller.abort();
    await clock.advance(1);
    expect(aborted.done).to.equal(true);
    const withdrawals = (): number =>
      backend.releases.filter(({ call }) => call.ids.includes(id)).length;
    expect(withdrawals()).to.equal(1);

    backend.push(id, 2000);
    await clock.advance(1);
    expect(withdrawals()).to.equal(2);
    backend.push(id, 2000);
    backend.push('somebody.else', 2000);
    await clock.advance(1);
    expect(withdrawals()).to.equal(2);
    expect(lasting.done).to.equal(false);
    await semaphore.close();
  });
});
