import { expect } from 'chai';

import { ManualClock } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import type { Scope } from '../scope.js';

function clockOf(scope: Scope): ManualClock {
  const { target } = scope;
  if ('clock' in target && target.clock instanceof ManualClock) return target.clock;
  throw new Error('these cases are for a row with a manual clock');
}

/** What only a clock that stands still can show. */
export const manualClockCases: CaseGroup = {
  title: 'time to the millisecond',
  needs: ['time'],
  cases: {
    'a ticket lives its ttl and not a millisecond longer [O 2b]': async (scope) => {
      await scope.semaphore({ ttl: 1000, extendEvery: 0 }).acquire();
      const other = scope.elsewhere();
      // A stall: a process that runs would give the ticket back as soon as it is lost.
      clockOf(scope).stall(999);
      expect(await other.tryAcquire()).to.equal(null);
      clockOf(scope).stall(1);
      expect(await other.tryAcquire()).to.include({ held: true });
    },

    'certainty ends 1 % and 2 ms before the ticket does [P6]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 1000, extendEvery: 0 }).acquire();
      expect(handle.expiresIn).to.equal(988);
      await scope.pass(987);
      expect(handle.held).to.equal(true);
      await scope.pass(1);
      expect(handle.held).to.equal(false);
      await scope.pass(12);
      expect(await handle.release()).to.equal(false);
    },

    'an hour of holding loses nothing, and extends every third of the ttl [O 4b]': async (
      scope,
    ) => {
      const handle = await scope.semaphore({ ttl: 30_000 }).acquire();
      let lowest = Infinity;
      for (let minute = 0; minute < 60; minute += 1) {
        for (let second = 0; second < 60; second += 10) {
          await scope.pass(10_000);
          lowest = Math.min(lowest, handle.expiresIn);
        }
      }
      expect(handle.held).to.equal(true);
      expect(lowest).to.be.at.least(30_000 - 10_000 - 302);
    },

    'a wall clock set forward ends certainty, for the machine may have slept [P6]': async (
      scope,
    ) => {
      const handle = await scope.semaphore({ ttl: 30_000, extendEvery: 0 }).acquire();
      clockOf(scope).stepWall(60_000);
      expect(handle.held).to.equal(false);
      expect(await scope.elsewhere().tryAcquire(), 'the ticket itself').to.equal(null);
      clockOf(scope).stepWall(-60_000);
      expect(handle.held, 'once set back').to.equal(false);
      expect(await handle.release()).to.equal(false);
    },

    'a wall clock set back prolongs nothing [P6]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 30_000, extendEvery: 0 }).acquire();
      clockOf(scope).stepWall(-3_600_000);
      await scope.pass(29_000);
      expect(handle.held).to.equal(true);
      await scope.pass(1000);
      expect(handle.held).to.equal(false);
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
    },

    'tokens rise though the wall clock was set back [P2]': async (scope) => {
      const semaphore = scope.semaphore();
      const first = await semaphore.use(({ fencingToken }) => fencingToken);
      clockOf(scope).stepWall(-3_600_000);
      expect(await semaphore.use(({ fencingToken }) => fencingToken)).to.be.greaterThan(first);
    },

    'no timer is left when nobody holds or waits [P8, AM]': async (scope) => {
      const clock = clockOf(scope);
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      const waiting = semaphore.acquire(60_000);
      await scope.pass(100);
      await handle.release();
      const second = await scope.within(10_000, waiting);
      await second.release();
      await semaphore.close();
      expect(clock.timers).to.equal(0);
    },

    'a wait of days ends when it should, though no timer is that long': async (scope) => {
      await scope.elsewhere({ ttl: 2 ** 31 - 1, extendEvery: 0 }).acquire();
      const day = 86_400_000;
      const semaphore = scope.semaphore({ retry: { min: day, max: day, jitter: false } });
      let ended = false;
      const end = (): void => {
        ended = true;
      };
      void semaphore.acquire(2 * day).then(end, end);
      await scope.pass(0);
      clockOf(scope).stall(2 * day - 1000);
      await scope.pass(999);
      expect(ended).to.equal(false);
      await scope.pass(2);
      expect(ended).to.equal(true);
    },
  },
};
