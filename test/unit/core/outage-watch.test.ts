import { expect } from 'chai';

import type { SemaphoreWarning } from '../../../src/index.js';
import { acquireAll, Election, KeyedMutex, KeyedSemaphore } from '../../../src/index.js';
import { ReadWriteLock, Semaphore } from '../../../src/index.js';
import { StubBackend, watch } from '../stub-backend.js';
import { later, PLAIN, stubFixture } from '../stub-fixture.js';

const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');

type Warning = Pick<SemaphoreWarning, 'message'> & { readonly code: string };

/** The outages that it reports from now on. */
function outagesOf(face: {
  on(event: 'warning', listener: (warning: Warning) => void): unknown;
}): Warning[] {
  const heard: Warning[] = [];
  face.on('warning', (warning) => {
    if (warning.code === 'BACKEND_UNREACHABLE') heard.push(warning);
  });
  return heard;
}

/** Every face over the same backend; `wait` never ends while that fails. */
function faces(backend: StubBackend) {
  const options = { retry: PLAIN };
  const limited = { ...options, limit: 5 };
  const keyed = new KeyedMutex(backend, { ...options, name: 'orders' });
  const tenants = new KeyedSemaphore(backend, { ...limited, name: 'tenants' });
  const lock = new ReadWriteLock(backend, 'config', options);
  const election = new Election(backend, 'scheduler', options);
  const [a, b] = [new Semaphore(backend, 'a', limited), new Semaphore(backend, 'b', limited)];
  return [
    [keyed, () => keyed.acquire(['one', 'two']), 'keyed:orders:one'],
    [tenants, () => tenants.acquire('acme'), 'keyed:tenants:acme'],
    [lock, () => lock.acquireWrite(), 'config'],
    [election, () => election.campaign(), 'scheduler'],
    [a, () => acquireAll([b, a], { clock: backend.clock }), 'a'],
  ] as const;
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

  it('is reported by every face, once, and in the next outage again', async () => {
    const backend = new StubBackend();
    const { clock } = backend;
    backend.onAcquire = () => Promise.reject(refused);
    const all = faces(backend).map(([source, wait, name]) => {
      watch<unknown>(clock, wait());
      return { heard: outagesOf(source), name };
    });
    await clock.advance(20_000);
    for (const { heard, name } of all) {
      expect(heard, name).to.have.length(1);
      expect(heard[0]?.message).to.include(`acquire() of "${name}" waits`);
    }
    backend.onAcquire = (call) => backend.allQueued(call);
    await clock.advance(10_000);
    backend.onAcquire = () => Promise.reject(refused);
    await clock.advance(10_000);
    for (const { heard, name } of all) expect(heard, name).to.have.length(2);
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
