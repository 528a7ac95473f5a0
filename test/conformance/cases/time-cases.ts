import { expect } from 'chai';

import { HandleLostError, ManualClock } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { expectLost, type Scope, thrownBy, untilLost } from '../scope.js';

/** Time passes here and is all that these cases need. */
export const timeCases: CaseGroup = {
  title: 'the passing of time',
  needs: ['time'],
  cases: {
    'ends a ticket that is not extended, which counts no more [P1]': async (scope) => {
      const ttl = 400;
      const here = scope.semaphore({ limit: 3, ttl, extendEvery: 0 });
      const there = scope.elsewhere({ limit: 3 });
      const handle = await here.acquire({ permits: 3 });
      expect(await there.tryAcquire()).to.equal(null);
      await scope.time.pass(ttl + 1);
      expect(await there.inspect()).to.deep.include({ held: 0, holders: [] });
      expect((await there.tryAcquire({ permits: 3 }))?.slots).to.deep.equal([0, 1, 2]);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(await handle.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 3 });
    },

    'ends a handle by the end of its ttl, counted from before the call [P6]': async (scope) => {
      const semaphore = scope.semaphore({ ttl: 300, extendEvery: 0 });
      const sent = scope.time.now();
      const handle = await semaphore.acquire();
      const error = await scope.within(1000, untilLost(handle));
      expect(scope.time.now() - sent).to.be.within(290, 300 + scope.time.late);
      await expectLost(handle, error, 'expired');
      // The server may have run the call later than it was sent: the ticket lives on for as long.
      const next = await scope.within(5000, scope.elsewhere().acquire());
      expect(next.held).to.equal(true);
    },

    'is seen right after a stall, and no extension undoes it [P6]': async (scope) => {
      const [here, there] = [scope.semaphore({ ttl: 100 }), scope.elsewhere()];
      const handle = await here.acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      scope.time.stall(110);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      const error = thrownBy(() => handle.assertHeld());
      expect(error).to.be.instanceOf(HandleLostError).and.include({ reason: 'expired' });
      expect(losses).to.equal(0);
      await scope.within(1000, errorOf(handle.extend(), HandleLostError));
      await scope.time.pass(20);
      expect(losses).to.equal(1);
      expect(handle.held).to.equal(false);
      const next = await scope.within(2000, there.acquire(1000));
      expect(next.held).to.equal(true);
    },
  },
};

function clockOf({ target }: Scope): ManualClock {
  if ('clock' in target && target.clock instanceof ManualClock) return target.clock;
  throw new Error('these cases are for a row with a manual clock');
}

/** What only a clock that nothing else moves can show. */
export const manualClockCases: CaseGroup = {
  title: 'time to the millisecond',
  needs: ['time'],
  cases: {
    'certainty ends 1 % and 2 ms before the ticket does [P6]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 1000, extendEvery: 0 }).acquire();
      await scope.time.pass(500);
      expect(handle.expiresIn).to.equal(488);
      await handle.extend();
      expect(handle.expiresIn).to.equal(988);
      await scope.time.pass(987);
      expect(handle.held).to.equal(true);
      await scope.time.pass(1);
      expect(handle.held).to.equal(false);
      await scope.time.pass(12);
      expect(await handle.release()).to.equal(false);
    },

    'a wall clock set forward ends certainty; set back, it prolongs nothing [P6]': async (
      scope,
    ) => {
      const handle = await scope.semaphore({ ttl: 30_000, extendEvery: 0 }).acquire();
      clockOf(scope).stepWall(60_000);
      expect(handle.held).to.equal(false);
      expect(await scope.elsewhere().tryAcquire(), 'the ticket itself').to.equal(null);
      clockOf(scope).stepWall(-60_000);
      expect(handle.held, 'once set back').to.equal(false);
      expect(await handle.release()).to.equal(false);
      const next = await scope.semaphore({ ttl: 30_000, extendEvery: 0 }).acquire();
      clockOf(scope).stepWall(-3_600_000);
      await scope.time.pass(29_000);
      expect(next.held).to.equal(true);
      await scope.time.pass(1000);
      expect(next.held).to.equal(false);
      const last = await scope.elsewhere().tryAcquire();
      expect(last?.fencingToken).to.be.greaterThan(next.fencingToken);
    },

    'no timer is left when nobody holds or waits [P8]': async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      const waiting = semaphore.acquire(60_000);
      await scope.time.pass(100);
      await handle.release();
      const second = await scope.within(10_000, waiting);
      await second.release();
      await semaphore.close();
      expect(clockOf(scope).timers).to.equal(0);
    },

    'a wait of days ends when it should, though no timer is that long': async (scope) => {
      await scope.elsewhere({ ttl: 2 ** 31 - 1, extendEvery: 0 }).acquire();
      const day = 86_400_000;
      const semaphore = scope.semaphore({ retry: { min: day, max: day, jitter: false } });
      let ended = false;
      const end = (): boolean => (ended = true);
      void semaphore.acquire(2 * day).then(end, end);
      await scope.time.pass(0);
      clockOf(scope).stall(2 * day - 1000);
      await scope.time.pass(999);
      expect(ended).to.equal(false);
      await scope.time.pass(2);
      expect(ended).to.equal(true);
    },
  },
};
