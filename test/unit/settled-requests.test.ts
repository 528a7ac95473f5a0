import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { never, StubBackend, watch } from './stub-backend.js';

describe('a request that is settled', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend({ pushes: true });
    semaphore = new Semaphore(backend, 'jobs', { limit: 1, ttl: 30_000 });
  });

  it('by a refusal leaves no timer', async () => {
    backend.onAcquire = (call) => backend.allBusy(call);
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect(backend.clock.timers).to.equal(0);
    const refused = watch(backend.clock, semaphore.acquire(0));
    await backend.clock.advance(0);
    expect(refused.done).to.equal(true);
    expect(backend.clock.timers).to.equal(0);
  });

  it('by a push waits no more when its call is given up, nor when it is answered late', async () => {
    const { clock } = backend;
    // Somebody waits before, so that the subscription stands.
    const before = semaphore.acquire();
    await clock.advance(0);
    backend.setHealth(true);
    await clock.advance(0);
    backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
    await (await before).release();
    backend.acquires.splice(0);

    backend.onAcquire = () => never();
    const waiting = watch(clock, semaphore.acquire());
    await clock.advance(0);
    backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
    await clock.advance(0);
    expect(waiting.value).to.include({ held: true });
    await clock.advance(6000);
    expect(await waiting.value?.release()).to.equal(true);
    await clock.advance(20_000);
    expect(backend.acquires).to.have.length(1);
    expect([backend.closedListeners, clock.timers]).to.deep.equal([1, 0]);
  });
});
