import { expect } from 'chai';

import { AcquireTimeoutError, Mutex, ReadWriteLock } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup, untilState } from '../scope.js';

export const limitCases = caseGroup('a live limit', ['operator calls'], (it) => {
  it('pauses with 0: no request is granted, holders keep their permits, waiters wait', async (scope) => {
    const [here, there] = scope.pair({ limit: 2 });
    const holder = await there.acquire();
    const early = there.acquire({ permits: 2 });
    await scope.untilWaiting(1);
    await here.setLimit(0);
    expect(await here.inspect()).to.include({ limit: 0, limitFrom: 'setLimit', held: 1 });
    expect(here.limit).to.equal(0);
    await holder.extend();
    expect(holder.held).to.equal(true);
    expect(await here.tryAcquire()).to.equal(null);
    expect(await there.tryAcquire({ permits: 3 }), 'more than before the pause').to.equal(null);
    await errorOf(here.acquire(0), AcquireTimeoutError);
    const late = here.acquire({ permits: 2 });
    await scope.untilWaiting(2);
    expect(await holder.release()).to.equal(true);
    await untilState(there, { held: 0, waiting: 2 });
    await there.setLimit(2);
    const first = await early;
    await untilState(here, { held: 2, waiting: 1 });
    await first.release();
    expect((await late).slots).to.deep.equal([0, 1]);
  });

  it('is removed: the limit of each process counts again, also for waiters', async (scope) => {
    const [here, there] = scope.pair({ limit: 2 });
    const heard: string[] = [];
    for (const each of [here, there]) each.on('warning', ({ code }) => heard.push(code));
    await here.setLimit(undefined);
    await there.acquire();
    await here.setLimit(1);
    const waiting = there.acquire();
    await scope.untilWaiting(1);
    await here.setLimit(undefined);
    const granted = await waiting;
    expect(granted.slot).to.equal(1);
    expect(await here.inspect()).to.include({ limit: 2, limitFrom: 'caller', held: 2 });
    expect(await there.tryAcquire()).to.equal(null);
    expect([here.limit, there.limit]).to.deep.equal([2, 2]);
    // An operator knows the stored limit alone, and calls with it.
    await here.setLimit(7);
    const operator = scope.elsewhere({ limit: 7 });
    expect(await operator.revoke(granted.id)).to.equal(true);
    await operator.setLimit(undefined);
    expect(await there.inspect()).to.include({ limit: 2, limitFrom: 'caller' });
    expect(heard).to.not.include('LIMIT_MISMATCH');
    expect(await here.addPermits(1), 'from its own limit again').to.equal(3);
  });

  it('is changed by a number in one step, and never below 0', async (scope) => {
    const [here, there] = scope.pair({ limit: 2 });
    expect(await here.addPermits(3), 'from its own limit').to.equal(5);
    expect(await there.inspect()).to.include({ limit: 5, limitFrom: 'setLimit' });
    const changes = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? here : there));
    await Promise.all(changes.map((semaphore) => semaphore.addPermits(1)));
    expect(await there.addPermits(0)).to.equal(25);
    for (const delta of [-26, Number.MAX_SAFE_INTEGER]) {
      const error = await errorOf(here.addPermits(delta), RangeError);
      expect(error).to.include({ code: 'INVALID_ARGUMENT' });
      expect(error.message).to.include('whose limit is 25, ').and.include(`got ${delta}`);
    }
    expect(await there.addPermits(-25)).to.equal(0);
    expect([here.limit, there.limit]).to.deep.equal([25, 0]);
    const waiting = [here.acquire(), there.acquire()];
    await scope.untilWaiting(2);
    expect(await here.addPermits(1), 'wakes one waiter').to.equal(1);
    await untilState(here, { held: 1, waiting: 1 });
    expect(await here.addPermits(1)).to.equal(2);
    expect((await Promise.all(waiting)).map(({ slot }) => slot)).to.have.members([0, 1]);
  });

  it('neither raises a mutex above 1 nor lets a writer in beside others', async (scope) => {
    const [lock] = scope.inBoth((at) => new ReadWriteLock(at, scope.name, { limit: 3 }));
    await scope.semaphore({ limit: 3 }).setLimit(4);
    const { message } = await errorOf(lock.acquireWrite(1000), RangeError);
    expect(message).to.match(/^limit: expected 3 .*, got 4;/);
    expect(await scope.semaphore({ limit: 3 }).inspect()).to.include({ held: 0, waiting: 0 });
    await lock.semaphore.setLimit(3);
    expect(await lock.write(() => 'alone')).to.equal('alone');
    const [mutex] = scope.inBoth((at) => new Mutex(at, scope.name));
    await mutex.setLimit(1);
    await mutex.acquire();
    expect(await mutex.tryAcquire()).to.equal(null);
  });
});
