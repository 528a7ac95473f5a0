import { expect } from 'chai';

import { AcquireTimeoutError } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { untilState } from '../scope.js';

const DAY = 86_400_000;

/**
 * P8: no key without an expiry, and nothing but `info`, and the sign in `tickets` that keeps that
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
      const keys = await scope.keys(`redsem:{${scope.name}-`);
      const tags = [...keys.keys()].map((key) => /^[^{]*\{([^{}]+)\}:\w+$/.exec(key)?.[1]);
      expect(new Set(tags)).to.have.lengthOf(1);
      expect(tags[0]).to.be.a('string');
      for (const [key, left] of keys) {
        expect(left, key).to.be.greaterThan(20_000);
      }
      const parts = [...keys.keys()].map((key) => key.slice(key.lastIndexOf(':') + 1));
      expect(parts).to.include.members(['tickets', 'queue', 'info']);
      await scope.end();
      await waiting;
    },

    'are gone after the last ticket and waiter, but for info, which goes a day later [P4, P8]':
      async (scope) => {
        const [here, there] = scope.pair();
        const holder = await there.acquire();
        await errorOf(here.acquire(10), AcquireTimeoutError);
        const waiting = here.acquire();
        await scope.untilWaiting(1);
        await holder.release();
        const next = await waiting;
        await scope.removeTicket(next);
        await next.release();
        await eventually(async () => {
          const keys = await scope.ownKeys();
          expect([...keys.keys()]).to.deep.equal(['info']);
          expect(keys.get('info')).to.be.within(DAY - 60_000, DAY + 60_000);
        });
      },
  },
};
