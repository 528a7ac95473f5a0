import { expect } from 'chai';

import { AcquireTimeoutError, QueueFullError } from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
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
      for (const options of [undefined, {}, Infinity, { timeout: 2 ** 40 }]) {
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

    'ends by a push, long before the next try is due [P3]': needing('push', async (scope) => {
      const [here, there] = scope.pair({ retry: { min: 3_600_000, max: 3_600_000 } });
      const holder = await there.acquire();
      const waiting = here.acquire();
      await scope.untilWaiting(1);
      await holder.release();
      expect(await waiting).to.include({ held: true });
    }),

    'gives groups turns by their weights, over processes': async (scope) => {
      const pair = scope.pair();
      const requests = ['a', 'a', 'a', 'a', 'b', 'b'].map((group, i) => {
        const options = { group, weight: group === 'a' ? 2 : 1 };
        return [group, i % 2 === 0 ? pair[0] : pair[1], options] as const;
      });
      expect(await servedInTurn(scope, requests)).to.equal('aabaab');
    },

    'puts priority before groups and arrival, and inspect shows it': async (scope) => {
      const requests = Object.entries({
        a: {},
        b: { priority: 2, group: 'x' },
        c: { priority: 9 },
        d: { priority: 2, group: 'x' },
        e: { priority: 2, group: 'y z, 100%' },
        f: { group: 'x' },
      }).map(([label, options], i) => {
        const by = i % 2 === 0 ? scope.semaphore({ label }) : scope.elsewhere({ label });
        return [label, by, options] as const;
      });
      const served = await servedInTurn(scope, requests, async () => {
        const { waiters } = await scope.semaphore().inspect();
        expect(waiters.map(({ label }) => label).join('')).to.equal('cbedaf');
        expect(waiters.map(({ position }) => position)).to.deep.equal([0, 1, 2, 3, 4, 5]);
        const shown = waiters.map(({ priority, group }) => `${priority} ${group}`);
        expect(shown.slice(0, 3)).to.deep.equal(['9 ', '2 x', '2 y z, 100%']);
      });
      expect(served).to.equal('cbedaf');
    },

    'refuses a request above maxWaiting at once': async (scope) => {
      const [here, there] = scope.pair({ maxWaiting: 1 });
      const holder = await here.acquire();
      const waiting = there.acquire();
      await scope.untilWaiting(1);
      for (const semaphore of [here, there]) {
        const error = await errorOf(semaphore.acquire(), QueueFullError);
        const fields = { code: 'QUEUE_FULL', position: 1, limit: 1, semaphore: scope.name };
        expect(error).to.include(fields);
        expect(await semaphore.tryAcquire()).to.equal(null);
      }
      await holder.release();
      await (await waiting).release();
      const never = scope.semaphore({ maxWaiting: 0 });
      await never.acquire();
      expect(await errorOf(never.acquire(), QueueFullError)).to.include({ position: 0, limit: 0 });
    },

    'rejects with the very reason of an abort, and leaves nothing [P4]': async (scope) => {
      const semaphore = scope.semaphore();
      const before = AbortSignal.abort('no need');
      expect(await reasonOf(semaphore.acquire({ signal: before }))).to.equal('no need');
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      const afterwards = new AbortController();
      const holder = await semaphore.acquire({ signal: afterwards.signal });
      afterwards.abort();
      expect(holder.held).to.equal(true);
      expect(holder.signal.aborted).to.equal(false);
      let ran = false;
      const run = (): boolean => (ran = true);
      for (const reason of [new Error('changed my mind'), 0, null]) {
        const controller = new AbortController();
        const { signal } = controller;
        const waits = [semaphore.acquire({ signal }), semaphore.use(run, { signal })];
        const reasons = waits.map((wait: Promise<unknown>) => reasonOf(wait));
        await scope.untilWaiting(2);
        controller.abort(reason);
        for (const each of reasons) expect(await each).to.equal(reason);
        await scope.untilWaiting(0);
      }
      const late = await errorOf(semaphore.acquire({ signal: AbortSignal.timeout(20) }), Error);
      expect(late.name).to.equal('TimeoutError');
      expect(await holder.release()).to.equal(true);
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
      expect(ran).to.equal(false);
    },
  },
};
