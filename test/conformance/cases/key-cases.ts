import { expect } from 'chai';

import { AcquireTimeoutError } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { type Scope, untilState } from '../scope.js';

const DAY = 86_400_000;

/** How the last ticket or waiter can go. */
const ENDS: Readonly<Record<string, (scope: Scope) => Promise<unknown>>> = {
  'a release': async (scope) => {
    const semaphore = scope.semaphore({ limit: 5 });
    const handles = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
    for (const handle of handles) await handle.release();
  },
  'a timeout': async (scope) => {
    const [here, there] = scope.pair();
    const holder = await there.acquire();
    const waits = [10, 15, 20, 25].map((timeout) => here.acquire(timeout));
    await Promise.all(waits.map((wait) => errorOf(wait, AcquireTimeoutError)));
    await holder.release();
  },
  'the release of a ticket that was gone': async (scope) => {
    const handle = await scope.semaphore().acquire();
    await scope.removeTicket(handle);
    await handle.release();
  },
  'a hand-over to a waiter': async (scope) => {
    const holder = await scope.elsewhere().acquire();
    const waiting = scope.semaphore().acquire();
    await scope.untilWaiting(1);
    await holder.release();
    await (await waiting).release();
  },
};

/**
 * P8: no key without an expiry, and nothing but `meta`, and the sign in `tickets` that keeps that
 * key, after the last ticket and waiter.
 */
export const keyCases: CaseGroup = {
  title: 'keys',
  needs: ['keys'],
  cases: {
    'all have one hash tag and an expiry, no shorter than a ticket’s [P8]': async (scope) => {
      const [here, there] = scope.pair({ limit: 3 }, `${scope.name}-{b}c`);
      const handles = [await here.acquire(), await here.acquire(), await here.acquire()];
      await handles[1]?.release();
      await here.acquire();
      await handles[0]?.release();
      const waiting = reasonOf(there.acquire({ permits: 3 }));
      await untilState(here, { waiting: 1 });
      const keys = await scope.keys.list(`redsem:{${scope.name}-`);
      const tags = [...keys.keys()].map((key) => /^[^{]*\{([^{}]+)\}:\w+$/.exec(key)?.[1]);
      expect(new Set(tags)).to.have.lengthOf(1);
      expect(tags[0]).to.be.a('string');
      for (const [key, left] of keys) {
        expect(left, key).to.be.greaterThan(20_000);
      }
      const parts = [...keys.keys()].map((key) => key.slice(key.lastIndexOf(':') + 1));
      expect(parts).to.include.members(['tickets', 'queue', 'meta']);
      await scope.end();
      await waiting;
    },

    ...Object.fromEntries(
      Object.entries(ENDS).map(([end, run]) => [
        `are gone after ${end}, but for meta, which goes a day later [P4, P8]`,
        async (scope: Scope) => {
          await run(scope);
          await eventually(async () => {
            const keys = await scope.ownKeys();
            expect([...keys.keys()]).to.deep.equal(['meta']);
            expect(keys.get('meta')).to.be.within(DAY - 60_000, DAY + 60_000);
          });
        },
      ]),
    ),
  },
};
