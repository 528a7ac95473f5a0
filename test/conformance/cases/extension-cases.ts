import { expect } from 'chai';

import { eventually } from '../../support/eventually.js';
import { type CaseGroup, needing } from '../case-group.js';
import type { Scope } from '../scope.js';

/** Milliseconds that the ticket with the shortest life has left, by the backend's own clock. */
async function leftThere(scope: Scope): Promise<number> {
  const { holders } = await scope.elsewhere().inspect();
  return Math.min(...holders.map(({ expiresIn }) => expiresIn));
}

/** [O 1b, O 1d, O 4b, RL4 11, RL4 13, RS 12, RS 13, RS 14, RS 16, RS 23, RS#28, RU 5, M 24, V, Symfony] */
export const extensionCases: CaseGroup = {
  title: 'extension',
  cases: {
    'gives the ticket its own full ttl again, and no other ticket anything': async (scope) => {
      const limit = 2;
      const long = await scope.semaphore({ limit, ttl: 60_000, extendEvery: 0 }).acquire();
      const short = await scope.elsewhere({ limit, ttl: 10_000, extendEvery: 0 }).acquire();
      await scope.ageTicket(short, 2000);
      expect(await leftThere(scope)).to.be.within(0, 2000);
      await Promise.all(Array.from({ length: 20 }, () => short.extend()));
      expect(await leftThere(scope)).to.be.within(5000, 10_000);
      expect(short.expiresIn).to.be.at.most(10_000);
      await short.release();
      expect(await leftThere(scope)).to.be.within(50_000, 60_000);
      expect(long.expiresIn).to.be.greaterThan(50_000);
      await long.extend();
    },

    'happens by itself, for all handles, whenever they came': async (scope) => {
      const semaphore = scope.semaphore({ limit: 20, ttl: 10_000, extendEvery: 20 });
      for (let i = 0; i < 10; i += 1) await scope.ageTicket(await semaphore.acquire(), 3000);
      await eventually(async () => expect(await leftThere(scope)).to.be.greaterThan(5000));
      expect(await semaphore.inspect()).to.include({ held: 10 });
    },

    'happens never with extendEvery 0': needing('time', async (scope) => {
      const handle = await scope.semaphore({ ttl: 10_000, extendEvery: 0 }).acquire();
      await scope.ageTicket(handle, 3000);
      await scope.time.pass(60);
      expect(await leftThere(scope)).to.be.below(3000);
      await handle.extend();
      expect(await leftThere(scope)).to.be.greaterThan(5000);
    }),

    'of a short ttl takes no life from the keys [P8]': needing('keys', async (scope) => {
      await scope.semaphore({ limit: 2, ttl: 60_000 }).acquire();
      const short = await scope.elsewhere({ limit: 2, ttl: 10_000, extendEvery: 0 }).acquire();
      await short.extend();
      await short.release();
      const keys = await scope.ownKeys();
      expect(keys).to.include.keys('tickets', 'meta');
      for (const [part, left] of keys) expect(left, part).to.be.greaterThan(50_000);
    }),
  },
};
