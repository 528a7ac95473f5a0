import { expect } from 'chai';

import { KeyedSemaphore, type Semaphore, type SemaphoreWarning } from '../../../src/index.js';
import { StubBackend, watch } from '../stub-backend.js';
import { later, PLAIN, stubFixture } from '../stub-fixture.js';

const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');

/** The outages that it reports from now on. */
function outagesOf(source: Semaphore | KeyedSemaphore): SemaphoreWarning[] {
  const heard: SemaphoreWarning[] = [];
  source.on('warning', (warning: SemaphoreWarning) => {
    if (warning.code === 'BACKEND_UNREACHABLE') heard.push(warning);
  });
  return heard;
}

describe('an outage while a request waits', () => {
  it('is a warning after 5 s in which calls fail, and another warning in the next outage', async () => {
    const { backend, clock, semaphore, acquire } = stubFixture();
    const heard = outagesOf(semaphore);
    backend.onAcquire = () => Promise.reject(refused);
    acquire();
    acquire({ permits: 2 });
    await clock.advance(4900);
    expect(heard).to.deep.equal([]);
    await clock.advance(60_000);
    expect(heard).to.have.length(1);
    expect(heard[0]).to.include({
      cause: refused,
      message:
        'cannot reach Redis: acquire() of "jobs" waits, and no call has succeeded for 5 s; it is retried; last error: connect ECONNREFUSED 127.0.0.1:1',
    });
    backend.onAcquire = (call) => backend.allQueued(call);
    await clock.advance(10_000);
    backend.onAcquire = () => Promise.reject(refused);
    await clock.advance(10_000);
    expect(heard).to.have.length(2);
  });

  it('is none without a waiter, with a reply in between, or with an answer that is late once', async () => {
    const { backend, clock, semaphore, acquire } = stubFixture({ ttl: 1000 });
    const heard = outagesOf(semaphore);
    backend.onAcquire = () => Promise.reject(refused);
    acquire(3000);
    await clock.advance(60_000);
    acquire(3000);
    await clock.advance(3000);
    const first = later<never>();
    backend.onAcquire = (call, index) =>
      index % 3 === 0 ? first.promise : backend.allQueued(call);
    acquire();
    await clock.advance(30_000);
    expect(heard).to.deep.equal([]);
  });

  it('is a single warning for any number of keys, and goes to a later listener', async () => {
    const backend = new StubBackend();
    const { clock } = backend;
    const tenants = new KeyedSemaphore(backend, { limit: 1, retry: PLAIN });
    backend.onAcquire = () => Promise.reject(refused);
    for (const key of ['a', 'b', 'c']) watch(clock, tenants.acquire(key, 45_000));
    await clock.advance(20_000);
    const heard = outagesOf(tenants);
    await clock.advance(30_000);
    expect(heard).to.have.length(1);
    // Its waiters are gone before the outage ends: a reply for another key ends it.
    backend.onAcquire = (call) => backend.allQueued(call);
    watch(clock, tenants.acquire('d', 1000));
    await clock.advance(2000);
    backend.onAcquire = () => Promise.reject(refused);
    watch(clock, tenants.acquire('e', 20_000));
    await clock.advance(20_000);
    expect(heard).to.have.length(2);
  });
});
