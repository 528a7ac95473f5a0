import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { AcquireTimeoutError, BackendError, HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';

/** Runs `body` only if a permit is free, and gives its result or undefined. */
async function ifFree<T>(
  tried: Promise<Handle | null>,
  body: () => Promise<T>,
): Promise<T | undefined> {
  await using handle = await tried;
  return handle === null ? undefined : await body();
}

/** One case for each row of the list of systems that this one replaces; what a row says is its title. */
export const originCases: CaseGroup = {
  title: 'what the systems before this one did',
  cases: {
    'O 1: an acquire purges by server time, counts, adds, and only ever raises the life of the key':
      needing('keys', async (scope) => {
        const long = scope.semaphore({ limit: 2, ttl: 60_000 });
        const gone = await long.acquire();
        const kept = await long.acquire();
        await scope.ageTicket(gone, 0);
        const next = await scope.elsewhere({ limit: 2, ttl: 1000 }).acquire(0);
        expect(next.slot).to.equal(gone.slot);
        expect(await long.tryAcquire()).to.equal(null);
        expect((await scope.ownKeys()).get('tickets')).to.be.greaterThan(50_000);
        expect(kept.held).to.equal(true);
      }),

    'O 1b: an extension touches only a ticket that exists and tells; a release removes it': async (
      scope,
    ) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const [gone, kept] = [await semaphore.acquire(), await semaphore.acquire()];
      await scope.removeTicket(gone);
      await errorOf(gone.extend(), HandleLostError);
      await kept.extend();
      expect(await kept.release()).to.equal(true);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'O 1c: acquire tries with pauses until its time is up; tryAcquire gives a handle or null':
      async (scope) => {
        const semaphore = scope.semaphore();
        const handle = await semaphore.tryAcquire();
        expect(handle).to.include({ held: true });
        expect(await semaphore.tryAcquire()).to.equal(null);
        await errorOf(semaphore.acquire(30), AcquireTimeoutError);
      },

    'O 1d: the handle extends itself and signals its loss; release stops that first': async (
      scope,
    ) => {
      const semaphore = scope.semaphore({ limit: 2, ttl: 10_000, extendEvery: 15 });
      const [one, two] = [await semaphore.acquire(), await semaphore.acquire()];
      await scope.ageTicket(one, 3000);
      await eventually(async () => {
        const { holders } = await semaphore.inspect();
        expect(Math.min(...holders.map(({ expiresIn }) => expiresIn))).to.be.greaterThan(5000);
      });
      await two.release();
      await scope.removeTicket(one);
      await eventually(() => expect(one.signal.aborted).to.equal(true));
      await moment(40);
      expect(two.signal.aborted).to.equal(false);
    },

    'O 1e: names, limits and prefixes keep apart; ids are unique': async (scope) => {
      const names = [scope.freshName(), scope.freshName()];
      const handles: Handle[] = [];
      for (const prefix of [scope.freshName(), scope.freshName()]) {
        for (const name of names) {
          const semaphore = scope.semaphore({ prefix, limit: 2 }, name);
          handles.push(await semaphore.acquire(0), await semaphore.acquire(0));
        }
      }
      expect(new Set(handles.map(({ id }) => id))).to.have.lengthOf(8);
    },

    'O 2: a guard, or nothing while a live holder exists': async (scope) => {
      const holder = await scope.elsewhere().tryAcquire();
      expect(await scope.semaphore().tryAcquire()).to.equal(null);
      await holder?.release();
      expect(await scope.semaphore().tryAcquire()).to.include({ held: true });
    },

    'O 2: an error for a backend that fails, and for a ttl that overflows': needing(
      ['keys', 'server errors'],
      async (scope) => {
        await scope.keys.setString(scope.ownKey('tickets'), 'not a sorted set');
        await errorOf(scope.semaphore().tryAcquire(), BackendError);
        await scope.keys.delete(scope.ownKey('tickets'));
        expect(() => scope.semaphore({ ttl: Number.MAX_SAFE_INTEGER })).to.throw(RangeError, 'ttl');
      },
    ),

    'O 2b: a key can be taken when it is absent or expired': async (scope) => {
      const first = await scope.semaphore().acquire(0);
      expect(await scope.elsewhere().tryAcquire()).to.equal(null);
      await scope.ageTicket(first, 0);
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
    },

    'O 2c: a stale guard never frees its successor, and the end of its scope releases a guard':
      async (scope) => {
        const semaphore = scope.semaphore();
        {
          await using stale = await semaphore.acquire(0);
          await scope.ageTicket(stale, 0);
          const successor = await scope.elsewhere().acquire(0);
          await stale.release();
          expect(await semaphore.tryAcquire()).to.equal(null);
          expect(successor.fencingToken).to.be.greaterThan(stale.fencingToken);
          await successor.release();
        }
        {
          await using guard = await semaphore.acquire(0);
          expect(guard.held).to.equal(true);
        }
        expect(await semaphore.tryAcquire()).to.include({ held: true });
      },

    'O 3: the body runs only if the lock was free; its result, or nothing': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const outer = await ifFree(here.tryAcquire(), async () => {
        const inner = await ifFree(there.tryAcquire(), () => Promise.resolve('inner'));
        return [inner, 'outer'];
      });
      expect(outer).to.deep.equal([undefined, 'outer']);
      expect(await ifFree(there.tryAcquire(), () => Promise.resolve('later'))).to.equal('later');
    },

    'O 3b: a late release after expiry leaves the new holder alone; twice is harmless': async (
      scope,
    ) => {
      const late = await scope.semaphore().acquire(0);
      await scope.ageTicket(late, 0);
      const holder = await scope.elsewhere().acquire(0);
      expect([await late.release(), await late.release()]).to.deep.equal([false, false]);
      await holder.extend();
      expect([await holder.release(), await holder.release()]).to.deep.equal([true, true]);
    },

    'O 3b: different names never collide': async (scope) => {
      const [one, two] = [scope.freshName(), scope.freshName()];
      const first = await scope.semaphore({}, one).acquire(0);
      const second = await scope.semaphore({}, two).acquire(0);
      await first.release();
      await second.extend();
      expect(await scope.elsewhere({}, two).tryAcquire()).to.equal(null);
    },

    'O 4: storage that compares tokens refuses a holder that lost its lock in a pause': async (
      scope,
    ) => {
      let highest = 0;
      const write = (token: number): boolean => {
        if (token < highest) return false;
        highest = token;
        return true;
      };
      const paused = await scope.semaphore().acquire(0);
      await scope.ageTicket(paused, 0);
      const successor = await scope.elsewhere().acquire(0);
      expect(write(successor.fencingToken)).to.equal(true);
      expect(write(paused.fencingToken)).to.equal(false);
    },

    'O 4b: a release compares before it deletes; the heartbeat stops when the lock was lost':
      async (scope) => {
        const lost = await scope.semaphore({ ttl: 10_000, extendEvery: 15 }).acquire(0);
        await scope.removeTicket(lost);
        const successor = await scope.elsewhere().acquire(0);
        await eventually(() => expect(lost.held).to.equal(false));
        expect(await lost.release()).to.equal(false);
        await moment(40);
        const { holders } = await scope.elsewhere().inspect();
        expect(holders.map(({ id }) => id)).to.deep.equal([successor.id]);
      },

    'O 4c: a backend that cannot answer means not acquired': needing(
      ['server', 'time'],
      async (scope) => {
        const semaphore = scope.semaphore({ ttl: 150 });
        await scope.semaphore().inspect();
        scope.server.pause();
        try {
          await errorOf(scope.within(2000, semaphore.tryAcquire()), BackendError);
        } finally {
          scope.server.resume();
        }
      },
    ),

    'O 4d: the backend is injected': async (scope) => {
      expect(await scope.semaphore().acquire(0)).to.include({ held: true });
      expect(await scope.elsewhere().tryAcquire()).to.equal(null);
    },
  },
};
