import { expect } from 'chai';

import type { RedisConnection } from '../../src/index.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import { backendOf } from '../../src/targets.js';
import type { RedisTarget } from '../../src/targets.js';
import { collectUntil } from '../support/garbage.js';

function client(): RedisConnection {
  const never = (): Promise<never> => Promise.reject(new Error('not connected'));
  return { runBySha: never, runByText: never };
}

describe('an array of clients', () => {
  it('is one backend whatever array they come in, and another in another order', () => {
    const [a, b, c] = [client(), client(), client()];
    expect(backendOf([a, b, c])).to.equal(backendOf([a, b, c]));
    expect(backendOf([a, b, c])).not.to.equal(backendOf([a, b]));
    expect(backendOf([a, b])).not.to.equal(backendOf([b, a]));
    expect(backendOf([a])).not.to.equal(backendOf(a));
  });

  it('keeps none of them for the sake of the others', async () => {
    const kept = client();
    const backend = backendOf([kept, client()]);
    const dropped = listOnceWith(kept);
    await collectUntil(() => dropped.deref() === undefined);
    expect(backend).to.be.instanceOf(QuorumBackend);
  });

  /** As when a client is replaced by a new one. */
  function listOnceWith(kept: RedisConnection): WeakRef<RedisConnection> {
    const replaced = client();
    backendOf([kept, replaced]);
    return new WeakRef(replaced);
  }

  it('must have at least one, each once', () => {
    const a = client();
    expect(() => new Semaphore([], 'name', { limit: 1 })).to.throw(RangeError, /at least one/);
    expect(() => new Semaphore([a, a], 'name', { limit: 1 })).to.throw(RangeError, /once/);
  });

  it('must have clients only', () => {
    for (const wrong of [undefined, null, 5, 'redis://', {}, new MemoryBackend(), [client()]]) {
      const targets = [client(), wrong] as unknown as RedisTarget;
      expect(() => backendOf(targets)).to.throw(TypeError, /target/);
    }
  });
});
