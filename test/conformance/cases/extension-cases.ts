import { expect } from 'chai';

import { HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { errorOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

/** Milliseconds that the first ticket has left, by the backend's own clock. */
async function leftThere(scope: Scope): Promise<number> {
  const { holders } = await scope.elsewhere({ limit: 100 }).inspect();
  return holders[0]?.expiresIn ?? 0;
}

export const extensionCases: CaseGroup = {
  title: 'extension',
  cases: {
    'gives the ticket its full ttl again [RS 16, RL4 11, O 1b]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 10_000 }).acquire();
      await scope.ageTicket(handle, 2000);
      expect(await leftThere(scope)).to.be.within(0, 2000);
      await handle.extend();
      expect(await leftThere(scope)).to.be.within(5000, 10_000);
    },

    'happens by itself, without a call of the holder [O 4b, RS 12, M 24]': async (scope) => {
      const handle = await scope.semaphore({ ttl: 10_000, extendEvery: 20 }).acquire();
      await scope.ageTicket(handle, 3000);
      await eventually(async () => {
        expect(await leftThere(scope)).to.be.greaterThan(5000);
      });
      expect(handle.held).to.equal(true);
    },

    'happens for all handles, whenever they came [RS 14]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 20, ttl: 10_000, extendEvery: 20 });
      for (let i = 0; i < 10; i += 1) {
        const handle = await semaphore.acquire();
        await scope.ageTicket(handle, 3000);
      }
      await eventually(async () => {
        const { holders } = await semaphore.inspect();
        expect(Math.min(...holders.map(({ expiresIn }) => expiresIn))).to.be.greaterThan(5000);
      });
    },

    'happens never with extendEvery 0 [RS 13]': needing('time', async (scope) => {
      const handle = await scope.semaphore({ ttl: 10_000, extendEvery: 0 }).acquire();
      await scope.ageTicket(handle, 3000);
      await scope.pass(60);
      expect(await leftThere(scope)).to.be.below(3000);
      await handle.extend();
      expect(await leftThere(scope)).to.be.greaterThan(5000);
    }),

    'is one for all who ask at the same time': async (scope) => {
      const handle = await scope.semaphore().acquire();
      await Promise.all(Array.from({ length: 20 }, () => handle.extend()));
      expect(handle.held).to.equal(true);
    },

    'never creates a ticket that is gone [O 1b, RL4 13, RU 5, Symfony]': async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      await scope.removeTicket(handle);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'missing', ticketId: handle.id, semaphore: scope.name });
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'never revives a ticket that has expired [RL4 13, RS 23]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      await scope.ageTicket(handle, 0);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error.reason).to.equal('missing');
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
    },

    'of one holder cannot shorten or end what another holds [RS#28, V]': async (scope) => {
      const long = await scope.semaphore({ limit: 2, ttl: 60_000 }).acquire();
      const brief = scope.elsewhere({ limit: 2, ttl: 10_000, extendEvery: 0 });
      const short = await brief.acquire();
      await short.extend();
      await short.release();
      const [holder] = (await brief.inspect()).holders;
      expect(holder?.id).to.equal(long.id);
      expect(holder?.expiresIn).to.be.greaterThan(50_000);
      await long.extend();
    },

    'of a short ttl leaves the keys the life that a longer one needs [P8, RS]': needing(
      'keys',
      async (scope) => {
        await scope.semaphore({ limit: 2, ttl: 60_000 }).acquire();
        const short = await scope.elsewhere({ limit: 2, ttl: 10_000, extendEvery: 0 }).acquire();
        await short.extend();
        await short.release();
        const keys = await scope.ownKeys();
        expect(keys).to.include.keys('tickets', 'meta');
        for (const [part, left] of keys) expect(left, part).to.be.greaterThan(50_000);
      },
    ),
  },
};
