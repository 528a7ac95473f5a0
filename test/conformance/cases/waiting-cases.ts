import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, ClosedError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

/** Pauses so short that the rows which can only poll need no patience. */
const retry = { min: 5, max: 20 };

/** Queues one request after the other and tells, later, in which order they were served. */
async function queueUp(
  scope: Scope,
  semaphores: readonly Semaphore[],
): Promise<() => Promise<number[]>> {
  const served: number[] = [];
  const ends: Promise<void>[] = [];
  for (const [i, semaphore] of semaphores.entries()) {
    const serve = async (): Promise<void> => {
      const handle = await semaphore.acquire();
      served.push(i);
      await handle.release();
    };
    ends.push(serve());
    await scope.untilWaiting(i + 1);
  }
  return async () => {
    await Promise.all(ends);
    return served;
  };
}

async function heldBy(semaphore: Semaphore, count: number): Promise<Handle[]> {
  return Promise.all(Array.from({ length: count }, () => semaphore.acquire()));
}

export const waitingCases: CaseGroup = {
  title: 'waiting',
  cases: {
    'serves in the order of arrival [P3, M 13, RD 23]': async (scope) => {
      const semaphore = scope.semaphore({ retry });
      const holder = await semaphore.acquire();
      const order = await queueUp(
        scope,
        Array.from({ length: 6 }, () => semaphore),
      );
      await holder.release();
      expect(await order()).to.deep.equal([0, 1, 2, 3, 4, 5]);
    },

    'serves in the order of arrival over two processes [P3]': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const holder = await here.acquire();
      const order = await queueUp(scope, [here, there, there, here, there, here]);
      await holder.release();
      expect(await order()).to.deep.equal([0, 1, 2, 3, 4, 5]);
    },

    'serves several waiters at once when several permits come free [AM, RD 15]': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 3, retry }),
        scope.elsewhere({ limit: 3, retry }),
      ];
      const holder = await here.acquire({ permits: 3 });
      const waiting = [here, there, there].map((semaphore) => semaphore.acquire());
      await scope.untilWaiting(3);
      await holder.release();
      const handles = await Promise.all(waiting);
      expect(handles.flatMap(({ slots }) => slots)).to.have.members([0, 1, 2]);
    },

    'serves one waiter for one permit': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2, retry });
      const [first] = await heldBy(semaphore, 2);
      const served = semaphore.acquire();
      const left = errorOf(semaphore.acquire(), ClosedError);
      await scope.untilWaiting(2);
      await first?.release();
      await served;
      expect(await semaphore.inspect()).to.include({ held: 2, waiting: 1 });
      await semaphore.close();
      await left;
    },

    'lets no tryAcquire pass by those who wait [P3]': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 2, retry }),
        scope.elsewhere({ limit: 2, retry }),
      ];
      const holder = await here.acquire();
      const waiting = here.acquire({ permits: 2 });
      await scope.untilWaiting(1);
      expect(await there.tryAcquire()).to.equal(null);
      expect(await here.tryAcquire()).to.equal(null);
      await errorOf(there.acquire(0), AcquireTimeoutError);
      await holder.release();
      expect((await waiting).slots).to.deep.equal([0, 1]);
    },

    'lets no tryAcquire take what a release just gave to a waiter [P3]': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      for (let round = 0; round < 5; round += 1) {
        const holder = await there.acquire(0);
        const waiting = here.acquire();
        await scope.untilWaiting(1);
        const [, tried] = await Promise.all([holder.release(), there.tryAcquire()]);
        expect(tried).to.equal(null);
        await (await waiting).release();
      }
    },

    'passes over a waiter that gave up [P3, RD 23]': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const holder = await there.acquire();
      const controller = new AbortController();
      const first = reasonOf(here.acquire({ signal: controller.signal }));
      await scope.untilWaiting(1);
      const second = there.acquire();
      await scope.untilWaiting(2);
      controller.abort('gave up');
      await first;
      await scope.untilWaiting(1);
      await holder.release();
      expect(await second).to.include({ held: true });
    },

    'goes on with those behind when a large request at the head gives up [P3, RS#28]': async (
      scope,
    ) => {
      const here = scope.semaphore({ limit: 3, retry });
      const there = scope.elsewhere({ limit: 3, retry });
      await here.acquire();
      const controller = new AbortController();
      const large = reasonOf(here.acquire({ permits: 3, signal: controller.signal }));
      await scope.untilWaiting(1);
      const small = [there.acquire(), here.acquire()];
      await scope.untilWaiting(3);
      controller.abort('gave up');
      await large;
      const handles = await Promise.all(small);
      expect(handles.flatMap(({ slots }) => slots)).to.have.members([1, 2]);
    },

    'is woken by a push, long before its next try is due [P3, SM]': needing(
      'push',
      async (scope) => {
        const slow = { retry: { min: 3_600_000, max: 3_600_000 } };
        const [here, there] = [scope.semaphore(slow), scope.elsewhere(slow)];
        const holder = await there.acquire();
        const waiting = here.acquire();
        await scope.untilWaiting(1);
        await holder.release();
        expect(await waiting).to.include({ held: true });
      },
    ),

    'waits by polling alone where no push arrives [P9]': async (scope) => {
      const polling = { retry: { min: 5, max: 20, jitter: false } };
      const holder = await scope.elsewhere(polling).acquire();
      const waiting = scope.semaphore(polling).acquire();
      await scope.untilWaiting(1);
      await holder.release();
      expect(await waiting).to.include({ held: true });
    },
  },
};
