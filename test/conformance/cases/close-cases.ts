import { once } from 'node:events';
import { expect } from 'chai';

import type { Semaphore } from '../../../src/index.js';
import { ClosedError, HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { errorOf } from '../../support/rejection.js';

const retry = { min: 5, max: 20 };

function everyCall(semaphore: Semaphore): Promise<unknown>[] {
  return [
    semaphore.acquire(),
    semaphore.acquire(0),
    semaphore.tryAcquire(),
    semaphore.use(() => {}),
    semaphore.inspect(),
  ];
}

export const closeCases: CaseGroup = {
  title: 'close',
  cases: {
    'releases its handles and tells them [M 19, RD 13]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const handles = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
      const told = handles.map((handle) => once(handle, 'lost') as Promise<[HandleLostError]>);
      await semaphore.close();
      for (const [i, [error]] of (await Promise.all(told)).entries()) {
        expect(error).to.be.instanceOf(HandleLostError);
        expect(error).to.include({ reason: 'closed', ticketId: handles[i]?.id });
        expect(handles[i]?.signal.reason).to.equal(error);
        expect(handles[i]).to.include({ held: false, expiresIn: 0 });
        expect(await handles[i]?.release()).to.equal(false);
      }
      expect(await scope.elsewhere().inspect()).to.include({ held: 0 });
    },

    'rejects those who wait, and leaves nothing of them [AM, RD 13, P8]': async (scope) => {
      const holder = await scope.elsewhere().acquire();
      const semaphore = scope.semaphore();
      const waiting = [1, 2, 3].map(() => errorOf(semaphore.acquire(), ClosedError));
      await scope.untilWaiting(3);
      await semaphore.close();
      for (const error of await Promise.all(waiting)) {
        expect(error).to.include({ code: 'CLOSED', name: 'ClosedError' });
        expect(error.message).to.include(scope.name);
      }
      expect(holder.held).to.equal(true);
      expect(await scope.elsewhere().inspect()).to.include({ held: 1, waiting: 0 });
    },

    'rejects what is under way, and leaves nothing of it [P4]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const calls = [semaphore.acquire(), semaphore.acquire(), semaphore.tryAcquire()];
      const errors = calls.map((call) => errorOf(call, ClosedError));
      await semaphore.close();
      await Promise.all(errors);
      expect(await scope.elsewhere().inspect()).to.include({ held: 0, waiting: 0 });
    },

    'makes every later call fail [RD 13]': async (scope) => {
      const semaphore = scope.semaphore();
      await semaphore.close();
      for (const call of everyCall(semaphore)) await errorOf(call, ClosedError);
      expect(await scope.elsewhere().inspect()).to.include({ held: 0, waiting: 0 });
    },

    'may be called again, and at the same time [BQ 7]': async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      let told = 0;
      handle.on('lost', () => (told += 1));
      await Promise.all([semaphore.close(), semaphore.close()]);
      await semaphore.close();
      await semaphore[Symbol.asyncDispose]();
      expect(told).to.equal(1);
    },

    'does nothing to an unused semaphore': async (scope) => {
      await scope.semaphore().close();
      expect(await scope.elsewhere().inspect()).to.include({ held: 0, waiting: 0 });
    },

    'leaves the client usable': async (scope) => {
      await scope.semaphore().close();
      const again = scope.semaphore();
      expect(await again.acquire(0)).to.include({ held: true });
    },

    'leaves alone what another semaphore of the same client and name holds': async (scope) => {
      const [closing, staying] = [scope.semaphore({ limit: 2 }), scope.semaphore({ limit: 2 })];
      const [gone, kept] = [await closing.acquire(), await staying.acquire()];
      let told = 0;
      kept.on('lost', () => (told += 1));
      await closing.close();
      expect(gone.held).to.equal(false);
      await kept.extend();
      expect(kept.held).to.equal(true);
      expect(told).to.equal(0);
      expect(await staying.inspect()).to.include({ held: 1 });
    },

    'leaves alone those who wait on another semaphore of the same client and name': async (
      scope,
    ) => {
      const holder = await scope.elsewhere().acquire();
      const [closing, staying] = [scope.semaphore({ retry }), scope.semaphore({ retry })];
      const rejected = errorOf(closing.acquire(), ClosedError);
      const waiting = staying.acquire();
      await scope.untilWaiting(2);
      await closing.close();
      await rejected;
      await scope.untilWaiting(1);
      await holder.release();
      expect(await waiting).to.include({ held: true });
    },

    'lets the next one in that waits elsewhere [P7]': async (scope) => {
      const closing = scope.semaphore();
      await closing.acquire();
      const waiting = scope.elsewhere({ retry }).acquire();
      await scope.untilWaiting(1);
      await closing.close();
      expect(await waiting).to.include({ held: true });
    },

    'can be waited for inside `use`, whose own error it does not hide': async (scope) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const using = semaphore.use(async () => {
        await semaphore.close();
        throw failure;
      });
      expect(await errorOf(using, Error)).to.equal(failure);
    },
  },
};
