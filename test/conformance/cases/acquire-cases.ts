import { expect } from 'chai';

import { AcquireTimeoutError, isRedsemError, RedsemError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';

export const acquireCases: CaseGroup = {
  title: 'acquire and tryAcquire',
  cases: {
    'give a handle with every field that a holder needs': async (scope) => {
      // A ttl may be any number.
      const semaphore = scope.semaphore({ limit: 23, ttl: 29_000.75, extendEvery: 1000.5 });
      expect(semaphore).to.include({ limit: 23, name: scope.name });
      for (const take of [() => semaphore.acquire(), () => semaphore.tryAcquire()]) {
        const handle = await take();
        if (handle === null) throw new Error('there is a free permit');
        expect(handle.id).to.be.a('string').that.is.not.empty;
        expect(handle).to.include({ name: scope.name, slot: 0, held: true });
        expect(handle.slots).to.deep.equal([0]);
        expect(handle.signal.aborted).to.equal(false);
        expect(handle.expiresIn).to.be.within(20_000, 29_000);
        expect(() => handle.assertHeld()).to.not.throw();
        await handle.extend();
        expect(await handle.release()).to.equal(true);
      }
    },

    'grant as many permits as the limit says and no more, over all objects [P1]': async (scope) => {
      const other = scope.semaphore({ limit: 5, label: 'other options', ttl: 5000 });
      const [here, there] = scope.pair({ limit: 5 });
      const all = [here, there, other];
      for (let round = 0; round < 3; round += 1) {
        const three = Promise.all([here.acquire(), here.acquire(0), here.acquire(1000)]);
        const handles = [...(await three), await there.acquire(0), await other.acquire()];
        expect(new Set(handles.map(({ id }) => id))).to.have.lengthOf(5);
        for (const semaphore of all) expect(await semaphore.tryAcquire()).to.equal(null);
        await handles[0]?.release();
        const next = await there.tryAcquire();
        expect(next).to.include({ held: true, slot: handles[0]?.slot });
        for (const semaphore of all) expect(await semaphore.tryAcquire()).to.equal(null);
        const error = await errorOf(here.acquire(0), AcquireTimeoutError);
        expect(error).to.include({ semaphore: scope.name, timeout: 0, attempts: 1 });
        expect(error.cause).to.equal(undefined);
        expect(await here.inspect()).to.include({ held: 5, waiting: 0 });
        for (const handle of [...handles, next]) expect(await handle?.release()).to.equal(true);
      }
    },

    'time out in time, with the semaphore and the time of the wait [P5]': needing(
      'time',
      async (scope) => {
        await scope.within(1000, scope.elsewhere().acquire());
        const started = scope.time.now();
        const waiting = errorOf(scope.semaphore().acquire(80), AcquireTimeoutError);
        const error = await scope.within(5000, waiting);
        const took = scope.time.now() - started;
        expect(took).to.be.within(79, 80 + scope.time.late);
        expect(error).to.be.instanceOf(RedsemError);
        expect(isRedsemError(error)).to.equal(true);
        const { name, cause, message } = error;
        expect({ name, cause }).to.deep.equal({ name: 'AcquireTimeoutError', cause: undefined });
        expect(error).to.include({ code: 'ACQUIRE_TIMEOUT', semaphore: scope.name, timeout: 80 });
        expect(error.waited).to.be.within(79, Math.ceil(took));
        expect(error.attempts).to.be.at.least(1);
        expect(message).to.include(scope.name).and.to.include('80');
      },
    ),
  },
};
