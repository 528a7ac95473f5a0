import { expect } from 'chai';

import { AcquireTimeoutError, KeyedMutex, KeyedSemaphore, Mutex } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup } from '../case-group.js';
import { untilState } from '../scope.js';

/** One permit each hour: no test takes as long. */
const HOURLY = { permits: 1, per: 3_600_000 };

export const rateCases: CaseGroup = {
  title: 'a rate',
  needs: ['operator calls'],
  cases: {
    'holds back waiters and tries, in every process, whatever is released': async (scope) => {
      const [here, there] = scope.pair({ limit: 2, rate: HOURLY });
      const before = { ...HOURLY, burst: 1, from: 'options', nextIn: 0 };
      expect((await here.inspect()).rate).to.deep.equal(before);
      expect(await scope.elsewhere().inspect()).not.to.have.property('rate');
      const first = await here.acquire();
      expect(await there.tryAcquire()).to.equal(null);
      await errorOf(there.acquire(0), AcquireTimeoutError);
      expect(await first.release()).to.equal(true);
      expect(await here.tryAcquire()).to.equal(null);
      const { rate } = await there.inspect();
      expect(rate).to.include({ ...HOURLY, burst: 1, from: 'caller' });
      expect(rate?.nextIn).to.be.within(1, HOURLY.per);
    },

    'may be beside no limit': async (scope) => {
      const rate = { ...HOURLY, burst: 40 };
      const [here, there] = scope.pair({ limit: Infinity, rate });
      const handles = await Promise.all(
        Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? here : there).acquire()),
      );
      expect(new Set(handles.map(({ slot }) => slot)).size).to.equal(40);
      expect(await here.tryAcquire()).to.equal(null);
      expect(await there.inspect()).to.include({ held: 40, limit: Number.MAX_SAFE_INTEGER });
    },

    'counts for every process once it is stored, and wakes the waiters that it lets through':
      async (scope) => {
        const [here, there] = scope.pair({ limit: 9 });
        await there.setRate(HOURLY);
        await here.acquire();
        const waiting = [here.acquire(), there.acquire(), here.acquire()];
        await scope.untilWaiting(3);
        expect((await here.inspect()).rate).to.include({ ...HOURLY, burst: 1, from: 'setRate' });
        await here.setRate({ ...HOURLY, burst: 2 });
        await Promise.race(waiting);
        await untilState(there, { held: 2, waiting: 2 });
        await there.setRate(undefined);
        await Promise.all(waiting);
        expect(await scope.elsewhere({ limit: 9, rate: HOURLY }).tryAcquire()).not.to.equal(null);
        expect(await here.tryAcquire()).not.to.equal(null);
        expect(await here.inspect()).not.to.have.property('rate');
      },

    'counts for a mutex, and for each key of a keyed semaphore or mutex': async (scope) => {
      const [, there] = scope.pair();
      const mutexes = scope.inBoth((at) => new Mutex(at, `${scope.name} mutex`, { rate: HOURLY }));
      await (await mutexes[0].acquire()).release();
      expect(await mutexes[1].tryAcquire()).to.equal(null);
      const keyed = scope.inBoth(
        (at) => new KeyedSemaphore(at, { name: scope.name, limit: () => Infinity, rate: HOURLY }),
      );
      await (await keyed[0].acquire('one')).release();
      expect(await keyed[1].tryAcquire('one')).to.equal(null);
      expect(await keyed[1].tryAcquire('other')).not.to.equal(null);
      const locks = scope.inBoth(
        (at) => new KeyedMutex(at, { name: `${scope.name}-keys`, rate: HOURLY }),
      );
      const both = await locks[0].tryAcquire(['one', 'two']);
      await both?.release();
      expect(both).not.to.equal(null);
      expect(await locks[1].tryAcquire(['two', 'three'])).to.equal(null);
      expect(await there.tryAcquire(), 'another name').not.to.equal(null);
    },
  },
};
