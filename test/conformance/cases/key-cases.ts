import { expect } from 'chai';

import { AcquireTimeoutError } from '../../../src/index.js';
import type { CaseGroup, Run } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { errorOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const DAY = 86_400_000;

async function expectOnlyMeta(scope: Scope): Promise<void> {
  await eventually(async () => {
    expect([...(await scope.ownKeys()).keys()]).to.deep.equal(['meta']);
  });
  const left = (await scope.ownKeys()).get('meta');
  expect(left, 'life of meta').to.be.within(DAY - 60_000, DAY + 60_000);
}

const withKeys = (run: Run) => needing('keys', run);

/** P8: no key without an expiry, and nothing but `meta` after the last ticket and waiter. */
export const keyCases: CaseGroup = {
  title: 'keys',
  cases: {
    'all have the prefix and one hash tag': withKeys(async (scope) => {
      const options = { limit: 3, prefix: scope.freshName() };
      const semaphore = scope.semaphore(options, 'a{b}c');
      const handles = [await semaphore.acquire(), await semaphore.acquire()];
      await handles[0]?.release();
      const keys = [...(await scope.keys.list(`${options.prefix}:`)).keys()];
      expect(keys.length).to.be.greaterThan(2);
      const tags = keys.map((key) => /^[^{]*\{([^{}]+)\}[^{}]*$/.exec(key)?.[1]);
      expect(new Set(tags)).to.have.lengthOf(1);
      expect(tags[0]).to.be.a('string');
    }),

    'all have an expiry while anything is held or waits, no shorter than a ticket [P8]': withKeys(
      async (scope) => {
        const ttl = 30_000;
        const here = scope.semaphore({ limit: 3, ttl });
        const handles = [await here.acquire(), await here.acquire(), await here.acquire()];
        await handles[1]?.release();
        await here.acquire();
        await handles[0]?.release();
        const waiting = scope
          .elsewhere({ limit: 3 })
          .acquire({ permits: 3 })
          .catch((error: unknown) => error);
        await scope.untilWaiting(1);
        const keys = await scope.ownKeys();
        expect(keys).to.include.keys('tickets', 'queue', 'waiters', 'meta');
        for (const [part, left] of keys) {
          expect(left, part).to.be.greaterThan(part === 'waiters' ? 4000 : 20_000);
        }
        await scope.end();
        await waiting;
      },
    ),

    'are gone after the last release, meta aside, which goes a day later [P8]': withKeys(
      async (scope) => {
        const semaphore = scope.semaphore({ limit: 5 });
        const handles = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
        for (const handle of handles) await handle.release();
        await expectOnlyMeta(scope);
      },
    ),

    'are gone after the last timeout [P4, P8]': withKeys(async (scope) => {
      const holder = await scope.elsewhere().acquire();
      const semaphore = scope.semaphore();
      const waits = [10, 15, 20, 25].map((timeout) => semaphore.acquire(timeout));
      await Promise.all(waits.map((wait) => errorOf(wait, AcquireTimeoutError)));
      await holder.release();
      await expectOnlyMeta(scope);
    }),

    'are gone when the last ticket was gone already [RS 30]': withKeys(async (scope) => {
      const handle = await scope.semaphore().acquire();
      await scope.removeTicket(handle);
      await handle.release();
      await expectOnlyMeta(scope);
    }),

    'are gone after a hand-over to a waiter [P8]': withKeys(async (scope) => {
      const retry = { min: 5, max: 20 };
      const holder = await scope.elsewhere({ retry }).acquire();
      const waiting = scope.semaphore({ retry }).acquire();
      await scope.untilWaiting(1);
      await holder.release();
      await (await waiting).release();
      await expectOnlyMeta(scope);
    }),

    'of a try that was refused are those of the holder': withKeys(async (scope) => {
      await scope.elsewhere().acquire();
      const before = [...(await scope.ownKeys()).keys()].toSorted();
      expect(await scope.semaphore().tryAcquire()).to.equal(null);
      expect([...(await scope.ownKeys()).keys()].toSorted()).to.deep.equal(before);
    }),

    'are not made by looking [BQ 17]': withKeys(async (scope) => {
      await scope.semaphore().inspect();
      expect([...(await scope.ownKeys()).keys()]).to.deep.equal([]);
    }),
  },
};
