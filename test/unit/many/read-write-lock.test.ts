import { expect } from 'chai';

import { ClosedError, ManualClock, MemoryBackend, ReadWriteLock } from '../../../src/index.js';
import { reasonOf } from '../../support/rejection.js';
import { watch } from '../stub-backend.js';

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

  it('serves in order of arrival, readers side by side', async () => {
    const events: string[] = [];
    let inside = 0;
    const work = (label: string) => async (): Promise<void> => {
      inside += 1;
      events.push(`${label} ${inside}`);
      await clock.advance(10);
      inside -= 1;
    };
    const holder = await lock.acquireRead();
    const all = [
      lock.write(work('w1')),
      lock.read(work('r1')),
      lock.read(work('r2')),
      lock.write(work('w2')),
      lock.read(work('r3')),
    ];
    await clock.advance(0);
    expect(await lock.semaphore.inspect()).to.include({ held: 1, waiting: 5 });
    expect(events).to.deep.equal([]);
    await holder.release();
    await Promise.all(all);
    expect(events).to.deep.equal(['w1 1', 'r1 1', 'r2 2', 'w2 1', 'r3 1']);
  });

  it('has as many readers as its limit, 1000 by default', async () => {
    for (let reader = 0; reader < 3; reader += 1) await lock.acquireRead(0);
    expect(await reasonOf(lock.acquireRead(0))).to.have.property('code', 'ACQUIRE_TIMEOUT');
    await using wide = new ReadWriteLock(backend, 'wide');
    expect(wide.name).to.equal('wide');
    await wide.write(async () => {
      expect(await wide.semaphore.inspect()).to.include({ limit: 1000, held: 1000 });
    });
  });

  it('lets the readers behind a writer that gives up read at once', async () => {
    const holder = await lock.acquireRead();
    const writing = watch(clock, lock.acquireWrite(300));
    await clock.advance(0);
    const reading = watch(clock, lock.acquireRead());
    await clock.advance(299);
    expect([writing.done, reading.done]).to.deep.equal([false, false]);
    await clock.advance(6);
    expect(writing.error).to.include({ semaphore: name, timeout: 300 });
    expect(reading.value).to.include({ held: true });
    expect(holder.held).to.equal(true);
  });

  it('passes the signal of its caller on', async () => {
    await lock.acquireWrite();
    const abort = new AbortController();
    const { signal } = abort;
    const waits = [
      reasonOf(lock.acquireRead({ signal })),
      reasonOf(lock.write(() => 1, { signal })),
    ];
    await clock.advance(0);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await Promise.all(waits)).to.deep.equal([reason, reason]);
    await clock.advance(0);
    expect(await lock.semaphore.inspect()).to.include({ held: 3, waiting: 0 });
  });

  it('rejects its waiters when it is closed', async () => {
    const holder = await lock.acquireRead();
    const writing = reasonOf(lock.acquireWrite());
    await lock.close();
    expect(await writing).to.be.instanceOf(ClosedError);
    expect(holder.held).to.equal(false);
    expect(await reasonOf(lock.read(() => 1))).to.be.instanceOf(ClosedError);
  });

  it('refuses wrong options', async () => {
    for (const [options, message] of [
      [5, /^options: expected an object/],
      [{ limit: 0 }, /^limit: expected an integer from 1 to 16777216, got 0/],
      [{ limit: 2 ** 24 + 1 }, /^limit: expected an integer from 1 to 16777216/],
      [{ limit: '5' }, /^limit: expected a number/],
      [{ readers: 5 }, /^readers: expected no option of this name/],
      [{ ttl: 5 }, /^ttl: expected/],
      [
        { rate: { permits: 1, per: 1 } },
        /^rate: expected none, because a writer takes all permits/,
      ],
    ] as const) {
      expect(() => new ReadWriteLock(backend, name, options as object)).to.throw(message);
    }
    for (const options of [{ permits: 1 }, { timeout: -1 }, 'soon', { signal: 5 }]) {
      for (const call of ['acquireRead', 'acquireWrite'] as const) {
        const refused = await reasonOf(lock[call](options as object));
        expect(refused, call).to.have.property('code', 'INVALID_ARGUMENT');
      }
    }
    for (const call of ['read', 'write'] as const) {
      expect(await reasonOf(lock[call](5 as never))).to.be.instanceOf(TypeError);
    }
    expect(await lock.semaphore.inspect()).to.include({ held: 0, waiting: 0 });
  });
});
