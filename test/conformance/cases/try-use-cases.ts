import { expect } from 'chai';

import { ClosedError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { errorOf, reasonOf } from '../../support/rejection.js';

export const tryUseCases: CaseGroup = {
  title: 'tryUse',
  cases: {
    'runs the function with a handle when a permit is free, and gives its result': async (
      scope,
    ) => {
      const semaphore = scope.semaphore();
      const outcome = await semaphore.tryUse(async (handle) => {
        expect(handle.held).to.equal(true);
        expect(await scope.elsewhere().tryAcquire()).to.equal(null);
        return 'result';
      });
      expect(outcome).to.deep.equal({ ran: true, result: 'result' });
      expect(await semaphore.tryUse(() => 5)).to.deep.equal({ ran: true, result: 5 });
      const nothing = await semaphore.tryUse(() => undefined);
      expect(nothing).to.deep.equal({ ran: true, result: undefined });
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'runs nothing, waits for nothing and queues nothing when none is free': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const handle = await here.acquire();
      let runs = 0;
      for (const semaphore of [here, there]) {
        const outcome = await scope.within(
          5000,
          semaphore.tryUse(() => (runs += 1)),
        );
        expect(outcome).to.deep.equal({ ran: false });
      }
      expect(runs).to.equal(0);
      expect(await there.inspect()).to.include({ held: 1, waiting: 0 });
      await handle.release();
      expect(await there.tryUse(() => (runs += 1))).to.deep.equal({ ran: true, result: 1 });
    },

    'runs once where many replicas start it at the same time': async (scope) => {
      const replicas = [scope.semaphore(), scope.elsewhere(), scope.semaphore({ label: 'third' })];
      let [runs, others] = [0, 0];
      let onOthers = (): void => {};
      const othersEnded = new Promise<void>((resolve) => (onOthers = resolve));
      // The job lasts until the others have found it running.
      const job = (): Promise<void> => {
        runs += 1;
        return othersEnded;
      };
      const outcomes = Promise.all(
        replicas.map(async (replica) => {
          const { ran } = await replica.tryUse(job);
          if (!ran) others += 1;
          if (others === 2) onOthers();
          return ran;
        }),
      );
      expect((await scope.within(10_000, outcomes)).filter((ran) => ran)).to.have.lengthOf(1);
      expect(runs).to.equal(1);
    },

    'passes on what the function throws or rejects with, and releases': async (scope) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const throwing = (): never => {
        throw failure;
      };
      expect(await reasonOf(semaphore.tryUse(throwing))).to.equal(failure);
      const rejecting = semaphore.tryUse(() => Promise.reject(failure));
      expect(await reasonOf(rejecting)).to.equal(failure);
      expect(failure.cause).to.equal(undefined);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'takes as many permits as it is told': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      const outcome = await here.tryUse(({ slots }) => slots, { permits: 2 });
      expect(outcome).to.deep.equal({ ran: true, result: [0, 1] });
      await there.acquire({ permits: 2 });
      expect(await here.tryUse(() => 'ran', { permits: 2 })).to.deep.equal({ ran: false });
      expect(await here.tryUse(() => 'ran')).to.deep.equal({ ran: true, result: 'ran' });
      await errorOf(
        here.tryUse(() => 'ran', { permits: 4 }),
        RangeError,
      );
    },

    'does not overtake those who wait [P3]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      await here.acquire();
      const waiting = reasonOf(there.acquire({ permits: 2 }));
      await scope.untilWaiting(1);
      expect(await here.tryUse(() => 'ran')).to.deep.equal({ ran: false });
      await there.close();
      expect(await waiting).to.be.instanceOf(ClosedError);
    },

    'hides neither result nor error when the permit was lost meanwhile': async (scope) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const outcome = await semaphore.tryUse(async (handle) => {
        await scope.removeTicket(handle);
        return 'result';
      });
      expect(outcome).to.deep.equal({ ran: true, result: 'result' });
      const failing = semaphore.tryUse(async (handle) => {
        await scope.removeTicket(handle);
        throw failure;
      });
      expect(await reasonOf(failing)).to.equal(failure);
    },

    'wants a function, and a semaphore that is open': async (scope) => {
      const semaphore = scope.semaphore();
      const error = await errorOf(semaphore.tryUse('job' as never), TypeError);
      expect(error.message).to.match(/^fn: expected a function, got "job"/);
      expect(await semaphore.inspect()).to.include({ held: 0 });
      await semaphore.close();
      await errorOf(
        semaphore.tryUse(() => {}),
        ClosedError,
      );
    },
  },
};
