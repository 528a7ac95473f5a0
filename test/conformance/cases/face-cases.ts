import { expect } from 'chai';

import { AcquireTimeoutError, KeyedSemaphore, ReadWriteLock } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { type Scope, underKey, untilState } from '../scope.js';

const retry = { min: 5, max: 20 };

function locksIn(scope: Scope): [ReadWriteLock, ReadWriteLock] {
  return scope.inBoth((at) => new ReadWriteLock(at, scope.name, { limit: 3, retry }));
}

export const faceCases: CaseGroup = {
  title: 'keyed semaphores and read-write locks',
  cases: {
    'a keyed semaphore has its own limit for each key, in all processes together': async (
      scope,
    ) => {
      const limit = (key: string): number => (key === 'a' ? 2 : 1);
      const [here, there] = scope.inBoth(
        (at) => new KeyedSemaphore(at, { name: scope.name, limit, retry }),
      );
      const first = await here.acquire('a');
      const second = await there.acquire('a', 1000);
      expect([first.name, first.slot, second.slot]).to.deep.equal([`keyed:${scope.name}:a`, 0, 1]);
      for (const each of [here, there]) expect(await each.tryAcquire('a')).to.equal(null);
      expect(await there.use('b', ({ slot }) => slot)).to.equal(0);
      expect(await second.release()).to.equal(true);
      expect(await here.tryUse('a', () => 'done')).to.deep.equal({ ran: true, result: 'done' });
      await errorOf(there.acquire('a', { permits: 3 }), RangeError);
      await first.release();
      await (await there.acquire('a', { permits: 2 })).release();
      await untilState(underKey(scope, 'a'), { held: 0, waiting: 0 });
    },

    'a read-write lock has readers together and a writer alone': async (scope) => {
      const [here, there] = locksIn(scope);
      const readers = [await here.acquireRead(), await there.acquireRead(1000)];
      await errorOf(here.acquireWrite(0), AcquireTimeoutError);
      for (const reader of readers) expect(await reader.release()).to.equal(true);
      const writer = await there.acquireWrite(1000);
      expect(writer.slots).to.have.lengthOf(3);
      for (const lock of [here, there]) {
        await errorOf(lock.acquireRead(0), AcquireTimeoutError);
        await errorOf(lock.acquireWrite(0), AcquireTimeoutError);
      }
      await writer.release();
      expect(await here.read(() => 'read')).to.equal('read');
      const later = await here.write(({ fencingToken }) => fencingToken);
      expect(later).to.be.greaterThan(writer.fencingToken);
      await untilState(scope.elsewhere({ limit: 3 }), { held: 0, waiting: 0 });
    },

    'a read-write lock refuses a writer beside permits that it does not know of': needing(
      'operator calls',
      async (scope) => {
        const [lock] = locksIn(scope);
        await scope.semaphore({ limit: 3 }).setLimit(4);
        const { message } = await errorOf(lock.acquireWrite(1000), RangeError);
        expect(message).to.match(/^limit: expected 3 .*, got 4;/);
        expect(await scope.semaphore({ limit: 3 }).inspect()).to.include({ held: 0, waiting: 0 });
        await lock.semaphore.setLimit(3);
        expect(await lock.write(() => 'alone')).to.equal('alone');
      },
    ),
  },
};
