import { expect } from 'chai';

import type { Backend } from '../../src/backend.js';
import { Semaphore } from '../../src/index.js';
import { StubBackend, watch } from './stub-backend.js';

describe('with a backend that does not tell refusals from what passes', () => {
  let backend: StubBackend & Backend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend();
    delete backend.isRetryable;
    backend.onAcquire = (call) => backend.allGranted(call);
    semaphore = new Semaphore(backend, 'jobs', { limit: 1, ttl: 30_000, extendEvery: 0 });
  });

  /** Throws the first `times` times. */
  const awayAtFirst = <Call, Reply>(times: number, reply: (call: Call) => Reply) => {
    return (call: Call, index: number): Reply => {
      if (index < times) throw new Error('away');
      return reply(call);
    };
  };

  it('acquire is tried on', async () => {
    backend.onAcquire = awayAtFirst(3, (call) => backend.allGranted(call));
    const waiting = watch(backend.clock, semaphore.acquire(1000));
    await backend.clock.advance(900);
    expect(waiting.value).to.include({ held: true });
    expect(backend.acquires).to.have.length(4);
  });

  it('an extension on demand is tried on', async () => {
    backend.onExtend = awayAtFirst(3, (call) => backend.extended(call));
    const handle = await semaphore.acquire();
    const extending = watch(backend.clock, handle.extend());
    await backend.clock.advance(900);
    expect(extending).to.include({ done: true, error: undefined });
    expect(backend.extends).to.have.length(4);
  });

  it('a release is tried on', async () => {
    backend.onRelease = awayAtFirst(3, (call) => backend.released(call));
    const handle = await semaphore.acquire();
    const releasing = watch(backend.clock, handle.release());
    await backend.clock.advance(900);
    expect(releasing).to.include({ done: true, value: true });
    expect(backend.releases).to.have.length(4);
  });

  it('an operator’s call is tried on', async () => {
    let calls = 0;
    backend.revoke = () => {
      calls += 1;
      if (calls < 4) return Promise.reject(new Error('away'));
      const { serverTime } = backend;
      return Promise.resolve({ serverTime, grants: [], revoked: true });
    };
    const revoking = watch(backend.clock, semaphore.revoke('other.1'));
    await backend.clock.advance(900);
    expect(revoking).to.include({ done: true, value: true });
  });
});
