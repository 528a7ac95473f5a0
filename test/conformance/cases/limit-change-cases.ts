import { expect } from 'chai';

import { acquireAll, ClosedError } from '../../../src/index.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf, reasonOf } from '../../support/rejection.js';

const retry = { min: 5, max: 20 };
const HOUR = 3_600_000;

const BAD_LIMITS: readonly BadValue[] = [
  ['3', TypeError, '"3"'],
  [undefined, TypeError, 'undefined'],
  [null, TypeError, 'null'],
  [0, RangeError, '0'],
  [-1, RangeError, '-1'],
  [1.5, RangeError, '1.5'],
  [NaN, RangeError, 'NaN'],
  [Infinity, RangeError, 'Infinity'],
];

export const limitChangeCases: CaseGroup = {
  title: 'a live limit',
  cases: {
    'is obeyed by every process at its next call [RD 5, RD 9]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      await there.acquire();
      await here.setLimit(3);
      expect(here.limit).to.equal(3);
      expect(await there.tryAcquire()).to.include({ slot: 1 });
      expect(there.limit).to.equal(3);
      expect(await there.tryAcquire()).to.include({ slot: 2 });
      expect(await there.tryAcquire()).to.equal(null);
      expect(await here.tryAcquire()).to.equal(null);
    },

    'counts for those who were or are made with any other limit': async (scope) => {
      const before = scope.elsewhere({ limit: 7 });
      await scope.semaphore({ limit: 5 }).setLimit(1);
      const after = scope.elsewhere({ limit: 9 });
      expect((await after.inspect()).limit).to.equal(1);
      await before.acquire();
      expect(await after.tryAcquire()).to.equal(null);
      expect(await scope.semaphore({ limit: 5 }).tryAcquire()).to.equal(null);
      expect([before.limit, after.limit]).to.deep.equal([1, 1]);
    },

    'wakes as many waiters as it makes room for, in their order': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
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

    'lets a request in that is larger than the limit was': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3, retry })];
      await here.acquire();
      const waiting = there.acquire({ permits: 3 });
      await scope.untilWaiting(1);
      await here.setLimit(2);
      await here.setLimit(4);
      expect((await waiting).slots).to.deep.equal([1, 2, 3]);
    },

    'takes no permit away when it shrinks: held stays above it': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      const handles = [await here.acquire(), await there.acquire(), await here.acquire()];
      await there.setLimit(1);
      expect(await here.inspect()).to.include({ limit: 1, held: 3 });
      for (const handle of handles) await handle.extend();
      expect(handles.map(({ held }) => held)).to.deep.equal([true, true, true]);
      for (const handle of handles) {
        expect(await here.tryAcquire()).to.equal(null);
        expect(await there.tryAcquire()).to.equal(null);
        expect(await handle.release()).to.equal(true);
      }
      expect(await here.tryAcquire()).to.include({ slot: 0 });
      expect(await there.tryAcquire()).to.equal(null);
    },

    'gives slots below it as soon as they are free': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const [first, second, third] = [
        await semaphore.acquire(),
        await semaphore.acquire(),
        await semaphore.acquire(),
      ];
      await semaphore.setLimit(2);
      await first.release();
      await second.release();
      expect(third.slot).to.equal(2);
      expect(await semaphore.tryAcquire()).to.include({ slot: 0 });
      expect(await semaphore.tryAcquire()).to.equal(null);
      await third.release();
      expect(await semaphore.tryAcquire()).to.include({ slot: 1 });
    },

    'waits with those who wait while it is shrunk, and goes on when it grows': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 2, retry }),
        scope.elsewhere({ limit: 2, retry }),
      ];
      const handles = [await here.acquire(), await here.acquire()];
      const waiting = there.acquire();
      await scope.untilWaiting(1);
      await here.setLimit(1);
      await handles[0]?.release();
      expect(await here.inspect()).to.include({ held: 1, waiting: 1 });
      await here.setLimit(2);
      expect(await waiting).to.include({ held: true, slot: 0 });
    },

    'steps over a request that no longer fits, and comes back to it': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 3, retry }),
        scope.elsewhere({ limit: 3, retry }),
      ];
      const all = await here.acquire({ permits: 3 });
      const large = there.acquire({ permits: 3 });
      await scope.untilWaiting(1);
      const small = here.acquire();
      await scope.untilWaiting(2);
      await here.setLimit(2);
      await all.release();
      const handle = await small;
      expect(await here.inspect()).to.include({ held: 1, waiting: 1 });
      await here.setLimit(3);
      expect(await here.inspect()).to.include({ held: 1, waiting: 1 });
      await handle.release();
      expect((await large).slots).to.deep.equal([0, 1, 2]);
    },

    'is what more permits than there are is measured by, at once': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      await semaphore.setLimit(5);
      const five = await semaphore.acquire({ permits: 5 });
      expect(five.slots).to.have.lengthOf(5);
      await five.release();
      await semaphore.setLimit(1);
      const calls = [
        () => semaphore.acquire({ permits: 2 }),
        () => semaphore.tryAcquire({ permits: 2 }),
        () => semaphore.use(() => {}, { permits: 2 }),
        () => semaphore.tryUse(() => {}, { permits: 2 }),
      ];
      for (const call of calls) {
        expect((await errorOf(call(), RangeError)).message).to.match(/permits: .* 1, got 2/);
      }
    },

    'is learnt by a call that asks for more than it allows by now': async (scope) => {
      const there = scope.elsewhere({ limit: 3, retry });
      await scope.semaphore({ limit: 3 }).setLimit(1);
      const error = await errorOf(there.acquire({ permits: 3 }), RangeError);
      expect(error.message).to.equal('permits: expected at most the limit, 1, got 3');
      expect(there.limit).to.equal(1);
      expect(await there.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'is asked for anew by each call, whatever was heard of it': async (scope) => {
      const there = scope.elsewhere({ limit: 2, retry });
      const here = scope.semaphore({ limit: 2 });
      const calls = [
        () => there.acquire({ permits: 3 }),
        () => there.tryAcquire({ permits: 3 }),
        () => there.use((handle) => handle, { permits: 3 }),
        () => acquireAll([{ semaphore: there, permits: 3 }]),
      ];
      for (const call of calls) {
        await here.setLimit(2);
        await errorOf(call(), RangeError);
        await here.setLimit(5);
        await (await call())?.release();
        expect(there.limit).to.equal(5);
      }
    },

    'is what inspect found last': async (scope) => {
      const there = scope.elsewhere({ limit: 2 });
      for (const limit of [7, 1, 2]) {
        await scope.semaphore({ limit: 2 }).setLimit(limit);
        expect((await there.inspect()).limit).to.equal(limit);
        expect(there.limit).to.equal(limit);
      }
    },

    'may be set again and again, also to what it is': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      for (const limit of [2, 2, 1, 1_000_000, Number.MAX_SAFE_INTEGER, 3]) {
        await here.setLimit(limit);
        expect((await there.inspect()).limit).to.equal(limit);
      }
      expect((await there.acquire({ permits: 2 })).slots).to.deep.equal([0, 1]);
      expect(await here.tryAcquire()).to.include({ slot: 2 });
      expect(await there.tryAcquire()).to.equal(null);
    },

    'stays when nobody holds or waits any more': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      await semaphore.setLimit(3);
      await (await semaphore.acquire({ permits: 3 })).release();
      await semaphore.close();
      const later = scope.elsewhere({ limit: 1 });
      expect(await later.inspect()).to.include({ limit: 3, held: 0 });
      expect(await later.tryAcquire()).to.not.equal(null);
      expect((await later.acquire({ permits: 2 })).slots).to.deep.equal([1, 2]);
    },

    'stands in a key that goes a day after the last use [P8]': needing('keys', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      await semaphore.setLimit(3);
      const [unused] = (await scope.ownKeys()).values();
      expect([...(await scope.ownKeys()).keys()]).to.deep.equal(['meta']);
      expect(unused).to.be.within(23 * HOUR, 25 * HOUR);
      await (await semaphore.acquire()).release();
      expect((await scope.ownKeys()).get('meta')).to.be.within(23 * HOUR, 25 * HOUR);
    }),

    'is that of its own name alone': async (scope) => {
      const [one, other] = [
        scope.semaphore({ limit: 2 }),
        scope.semaphore({ limit: 2 }, scope.freshName()),
      ];
      await one.setLimit(1);
      await other.acquire();
      expect(await other.tryAcquire()).to.not.equal(null);
      expect(other.limit).to.equal(2);
    },

    'is what the constructor was told until a call tells more': async (scope) => {
      const there = scope.elsewhere({ limit: 2 });
      await scope.semaphore({ limit: 2 }).setLimit(9);
      expect(there.limit).to.equal(2);
      await (await there.acquire()).extend();
      expect(there.limit).to.equal(9);
    },

    'refuses every bad one and changes nothing [M 8, RD 3]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      for (const bad of BAD_LIMITS) {
        expectRefusal(await reasonOf(semaphore.setLimit(bad[0] as never)), 'limit', bad);
      }
      expect((await semaphore.inspect()).limit).to.equal(2);
    },

    'cannot be set through a semaphore that is closed': async (scope) => {
      const semaphore = scope.semaphore();
      await semaphore.close();
      await errorOf(semaphore.setLimit(2), ClosedError);
      expect((await scope.elsewhere().inspect()).limit).to.equal(1);
    },
  },
};
