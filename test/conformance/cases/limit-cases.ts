import { expect } from 'chai';

import { acquireAll } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';

const HOUR = 3_600_000;

export const limitCases: CaseGroup = {
  title: 'a live limit',
  needs: ['operator calls'],
  cases: {
    'counts for every process from its next call': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const other = scope.semaphore({ limit: 2 }, scope.freshName());
      await (await there.acquire()).extend();
      const warnings: unknown[] = [];
      for (const each of [here, there]) each.on('warning', (warning) => warnings.push(warning));
      await here.setLimit(3);
      expect([here.limit, there.limit]).to.deep.equal([3, 2]);
      expect(await there.tryAcquire()).to.include({ slot: 1 });
      expect(there.limit).to.equal(3);
      expect(await scope.elsewhere({ limit: 9 }).tryAcquire()).to.include({ slot: 2 });
      for (const limit of [1, 2, 9]) {
        expect(await scope.elsewhere({ limit }).tryAcquire()).to.equal(null);
      }
      for (const limit of [2, 2, 1, 1_000_000, Number.MAX_SAFE_INTEGER, 3]) {
        await here.setLimit(limit);
        expect((await there.inspect()).limit).to.equal(limit);
        expect(there.limit).to.equal(limit);
      }
      await other.acquire();
      expect(await other.tryAcquire(), 'another name').to.include({ slot: 1 });
      expect(other.limit).to.equal(2);
      expect(warnings).to.deep.equal([]);
    },

    'is shown with where it is from': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const stranger = scope.semaphore({ limit: 9 });
      const shown = async (): Promise<unknown[]> => {
        const { limit, limitFrom } = await stranger.inspect();
        return [limit, limitFrom, stranger.limit];
      };
      expect(await shown()).to.deep.equal([9, 'options', 9]);
      await there.acquire();
      expect(await shown()).to.deep.equal([2, 'caller', 9]);
      await here.setLimit(5);
      expect(await shown()).to.deep.equal([5, 'setLimit', 5]);
    },

    'lets as many waiters in as it makes room for, in their order': async (scope) => {
      const [here, there] = scope.pair();
      const holder = await here.acquire();
      const served: number[] = [];
      const waits: Promise<number>[] = [];
      for (const [i, semaphore] of [there, here, there].entries()) {
        waits.push(semaphore.acquire().then(() => served.push(i)));
        await scope.untilWaiting(i + 1);
      }
      await here.setLimit(3);
      await Promise.all(waits.slice(0, 2));
      expect(served).to.have.members([0, 1]);
      expect(await there.inspect()).to.include({ limit: 3, held: 3, waiting: 1 });
      await holder.release();
      await waits[2];
      expect(served).to.have.lengthOf(3);
    },

    'takes no permit away when it shrinks, gives slots below it': async (scope) => {
      const [here, there] = scope.pair({ limit: 3 });
      const handles = [await here.acquire(), await there.acquire(), await here.acquire()];
      const [first, second, third] = handles;
      await there.setLimit(2);
      expect(await here.inspect()).to.include({ limit: 2, held: 3, waiting: 0 });
      for (const handle of handles) await handle.extend();
      expect(handles.map(({ held }) => held)).to.deep.equal([true, true, true]);
      for (const handle of [first, second]) {
        expect(await here.tryAcquire()).to.equal(null);
        expect(await there.tryAcquire()).to.equal(null);
        expect(await handle?.release()).to.equal(true);
      }
      expect(third?.slot).to.equal(2);
      expect(await there.tryAcquire()).to.include({ slot: 0 });
      expect(await here.tryAcquire()).to.equal(null);
      await third?.release();
      expect(await here.tryAcquire()).to.include({ slot: 1 });
      expect(await there.tryAcquire()).to.equal(null);
    },

    'keeps requests that it does not allow for now, and lets smaller ones pass': async (scope) => {
      const [here, there] = scope.pair({ limit: 3 });
      const all = await here.acquire({ permits: 3 });
      const large = there.acquire({ permits: 3 });
      await scope.untilWaiting(1);
      const small = here.acquire();
      await scope.untilWaiting(2);
      const smaller = there.acquire();
      await scope.untilWaiting(3);
      await here.setLimit(1);
      await all.release();
      const handle = await small;
      expect(await here.inspect()).to.include({ held: 1, waiting: 2 });
      await here.setLimit(2);
      const last = await smaller;
      await here.setLimit(4);
      expect(await here.inspect()).to.include({ held: 2, waiting: 1 });
      await last.release();
      expect((await large).slots).to.deep.equal([1, 2, 3]);
      expect(handle.held).to.equal(true);
    },

    'is asked for by each call that wants more than was allowed last': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const calls = [
        () => there.acquire({ permits: 3 }),
        () => there.tryAcquire({ permits: 3 }),
        () => there.use((handle) => handle, { permits: 3 }),
        () => there.tryUse(() => null, { permits: 3 }).then(() => null),
        () => acquireAll([{ semaphore: there, permits: 3 }]),
      ];
      for (const call of calls) {
        await here.setLimit(1);
        const error = await errorOf(call(), RangeError);
        expect(error.message).to.equal('permits: expected at most the limit, 1, got 3');
        expect(await there.inspect()).to.include({ limit: 1, held: 0, waiting: 0 });
        await here.setLimit(2);
        await errorOf(call(), RangeError);
        await here.setLimit(5);
        await (await call())?.release();
        expect(there.limit).to.equal(5);
      }
    },

    'is kept under a key for a day after the last use [P8]': needing('keys', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      await semaphore.setLimit(3);
      expect([...(await scope.ownKeys()).keys()]).to.deep.equal(['meta']);
      expect((await scope.ownKeys()).get('meta')).to.be.within(23 * HOUR, 25 * HOUR);
      await (await semaphore.acquire({ permits: 3 })).release();
      await semaphore.close();
      expect(await scope.elsewhere().inspect()).to.include({ limit: 3, held: 0 });
      expect((await scope.ownKeys()).get('meta')).to.be.within(23 * HOUR, 25 * HOUR);
    }),
  },
};
