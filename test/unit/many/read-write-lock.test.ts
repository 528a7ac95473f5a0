import { expect } from 'chai';

import { ManualClock, MemoryBackend, ReadWriteLock } from '../../../src/index.js';
import { reasonOf } from '../../support/rejection.js';

describe('a read-write lock', () => {
  const clock = new ManualClock();
  const name = 'catalog';
  let backend: MemoryBackend;
  let lock: ReadWriteLock;

  beforeEach(() => {
    backend = new MemoryBackend({ clock });
    lock = new ReadWriteLock(backend, name, { limit: 3 });
  });

  afterEach(async () => {
    await lock.close();
  });

  it('refuses wrong options', async () => {
    for (const [options, message] of [
      [{ limit: 0 }, /^limit: expected an integer from 1 to 16777216, got 0/],
      [{ limit: 2 ** 24 + 1 }, /^limit: expected an integer from 1 to 16777216/],
      [{ readers: 5 }, /^readers: expected no option of this name/],
      [
        { rate: { permits: 1, per: 1 } },
        /^rate: expected none, because a writer takes all permits/,
      ],
    ] as const) {
      expect(() => new ReadWriteLock(backend, name, options as object)).to.throw(message);
    }
    for (const call of ['acquireRead', 'acquireWrite'] as const) {
      for (const options of [{ permits: 1 }, { timeout: -1 }]) {
        const refused = await reasonOf(lock[call](options));
        expect(refused, call).to.have.property('code', 'INVALID_ARGUMENT');
      }
    }
    for (const call of ['read', 'write'] as const) {
      expect(await reasonOf(lock[call](5 as never))).to.be.instanceOf(TypeError);
    }
    expect(await lock.semaphore.inspect()).to.include({ held: 0, waiting: 0 });
  });
});
