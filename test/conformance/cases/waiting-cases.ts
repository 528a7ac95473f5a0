import { expect } from 'chai';

import { AcquireTimeoutError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { servedInTurn } from '../scope.js';

export const waitingCases: CaseGroup = {
  title: 'waiting',
  needs: ['queue'],
  cases: {
    'serves in the order of arrival, over objects and processes [P3]': async (scope) => {
      const [here, there] = scope.pair();
      const other = scope.semaphore({ label: 'other options', ttl: 20_000 });
      const mixed = [here, here, there, other, there, here].map(
        (by, i) => [String(i), by] as const,
      );
      expect(await servedInTurn(scope, mixed)).to.equal('012345');
    },

    'waits without a limit by default, and for longer than a timer can': async (scope) => {
      const semaphore = scope.semaphore();
      for (const options of [undefined, {}, 2 ** 40, Infinity, { timeout: 2 ** 40 }]) {
        const holder = await semaphore.acquire();
        const waiting = semaphore.acquire(options);
        await scope.untilWaiting(1);
        await holder.release();
        await (await waiting).release();
      }
    },

    'lets no try pass by the waiters [P3]': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const holder = await here.acquire();
      const waiting = here.acquire({ permits: 2 });
      await scope.untilWaiting(1);
      for (const semaphore of [here, there]) {
        expect(await semaphore.tryAcquire()).to.equal(null);
        expect(await semaphore.tryUse(() => 'ran')).to.deep.equal({ ran: false });
        await errorOf(semaphore.acquire(0), AcquireTimeoutError);
      }
      // The holder of one permit waits for two, and so for its own.
      await holder.release();
      expect((await waiting).slots).to.deep.equal([0, 1]);
    },

    'is ended by a push, long before the next try is due [P3]': needing('push', async (scope) => {
      const [here, there] = scope.pair({ retry: { min: 3_600_000, max: 3_600_000 } });
      const holder = await there.acquire();
      const waiting = here.acquire();
      await scope.untilWaiting(1);
      await holder.release();
      expect(await waiting).to.include({ held: true });
    }),
  },
};
