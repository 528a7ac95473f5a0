import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, isRedsemError, RedsemError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf } from '../../support/rejection.js';

function acquireTimes(semaphore: Semaphore, count: number): Promise<Handle[]> {
  return Promise.all(Array.from({ length: count }, () => semaphore.acquire()));
}

export const acquireCases: CaseGroup = {
  title: 'acquire and tryAcquire',
  cases: {
    'tells the name and the limit that it was given [M 1, M 32]': (scope) => {
      for (const limit of [5, 23, Number.MAX_SAFE_INTEGER]) {
        const semaphore = scope.semaphore({ limit });
        expect(semaphore.limit).to.equal(limit);
        expect(semaphore.name).to.equal(scope.name);
      }
    },

    'gives a handle with all that a holder needs [RS 5, RS 6]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      expect(handle.id).to.be.a('string').that.is.not.empty;
      expect(handle).to.include({ name: scope.name, slot: 0, held: true });
      expect(handle.slots).to.deep.equal([0]);
      expect(handle.signal.aborted).to.equal(false);
      expect(handle.expiresIn).to.be.within(20_000, 30_000);
      expect(() => handle.assertHeld()).to.not.throw();
    },

    'lets as many in as the limit says and not one more [RS 7, M 3]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      const handles = [await here.acquire(), await there.acquire(), await here.acquire()];
      expect(await here.tryAcquire()).to.equal(null);
      expect(await there.tryAcquire()).to.equal(null);
      await handles[0]?.release();
      expect(await there.tryAcquire()).to.include({ held: true });
      expect(await here.tryAcquire()).to.equal(null);
    },

    'is not re-entrant: one object serves many holders [M 6, RS#155]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 5 });
      const handles = await acquireTimes(semaphore, 5);
      expect(new Set(handles.map(({ id }) => id))).to.have.lengthOf(5);
      expect(await semaphore.tryAcquire()).to.equal(null);
    },

    'goes round three times on one object [RS 20, M 6]': async (scope) => {
      const semaphore = scope.semaphore();
      for (let round = 0; round < 3; round += 1) {
        const handle = await semaphore.acquire(0);
        expect(handle.held).to.equal(true);
        expect(await semaphore.tryAcquire()).to.equal(null);
        expect(await handle.release()).to.equal(true);
      }
    },

    'takes a free permit with acquire(0)': async (scope) => {
      const handle = await scope.semaphore().acquire(0);
      expect(handle.held).to.equal(true);
    },

    'makes one try with acquire(0), which queues nothing [RS 23, AS]': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      await there.acquire();
      const error = await errorOf(here.acquire(0), AcquireTimeoutError);
      expect(error).to.include({ semaphore: scope.name, timeout: 0, attempts: 1 });
      expect(error.cause).to.equal(undefined);
      expect(await here.inspect()).to.include({ held: 1, waiting: 0 });
    },

    'says in the timeout error what was waited for, and how long [RS 8, M 10]': needing(
      'time',
      async (scope) => {
        await scope.elsewhere().acquire();
        const started = scope.now();
        const waiting = errorOf(scope.semaphore().acquire(80), AcquireTimeoutError);
        const error = await scope.within(1000, waiting);
        const took = scope.now() - started;
        expect(took).to.be.within(79, 80 + scope.late);
        expect(error).to.be.instanceOf(RedsemError);
        expect(isRedsemError(error)).to.equal(true);
        expect(error).to.include({
          name: 'AcquireTimeoutError',
          code: 'ACQUIRE_TIMEOUT',
          semaphore: scope.name,
          timeout: 80,
        });
        expect(error.waited).to.be.within(79, Math.ceil(took));
        expect(error.attempts).to.be.at.least(1);
        expect(error.cause).to.equal(undefined);
        expect(error.message).to.include(scope.name).and.to.include('80');
      },
    ),

    'leaves nothing behind when the time is up [RS 8, RL5 12, M 30]': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const holder = await there.acquire();
      await errorOf(here.acquire(20), AcquireTimeoutError);
      await holder.release();
      expect(await there.acquire()).to.include({ held: true });
      expect(await here.inspect()).to.include({ held: 1, waiting: 0 });
    },

    'waits, and gets the permit when it is released [RS 31, RL4 5]': async (scope) => {
      const holder = await scope.elsewhere().acquire();
      let got = false;
      const waiting = scope
        .semaphore()
        .acquire()
        .then((handle) => {
          got = true;
          return handle;
        });
      await scope.untilWaiting(1);
      expect(got).to.equal(false);
      await holder.release();
      expect(await waiting).to.include({ held: true, slot: 0 });
    },

    'waits without a limit by default, and for longer than a timer can [RS 10]': async (scope) => {
      const semaphore = scope.semaphore();
      for (const options of [undefined, {}, 2 ** 40, Infinity, { timeout: 2 ** 40 }]) {
        const holder = await semaphore.acquire();
        const waiting = semaphore.acquire(options);
        await scope.untilWaiting(1);
        await holder.release();
        const handle = await waiting;
        await handle.release();
      }
    },

    'takes a ttl that is no whole number': async (scope) => {
      const handle = await scope.semaphore({ ttl: 20_000.75, extendEvery: 20.5 }).acquire();
      await handle.extend();
      expect(handle.expiresIn).to.be.within(10_000, 20_001);
      expect(await handle.release()).to.equal(true);
    },
  },
};
