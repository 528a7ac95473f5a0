import { hostname } from 'node:os';
import { expect } from 'chai';

import { reasonOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';

const strange = 'worker 7; über|all 😀 100%';

/** [M 33, RD 9, RU 15, RL#56, AS, BQ 17] */
export const inspectCases: CaseGroup = {
  title: 'inspect',
  cases: {
    'shows a semaphore that nobody has used, and every acquire and release': async (scope) => {
      const [here, there] = scope.pair({ limit: 7 });
      const nobody = { held: 0, waiting: 0, holders: [], waiters: [] };
      expect(await here.inspect()).to.deep.equal({ name: scope.name, limit: 7, ...nobody });
      const one = await here.acquire();
      expect(await there.inspect()).to.include({ held: 1 });
      const two = await there.acquire();
      expect(await there.inspect()).to.include({ held: 2 });
      for (const handle of [one, two]) await handle.release();
      expect(await there.inspect()).to.deep.include(nobody);
    },

    'shows who holds what, of those who have not expired': async (scope) => {
      const options = { limit: 7, ttl: 20_000 };
      const semaphore = scope.semaphore({ ...options, label: strange });
      const gone = await semaphore.acquire();
      const three = await semaphore.acquire({ permits: 3 });
      const unlabelled = await scope.semaphore({ ...options, label: '' }).acquire();
      const byDefault = await scope.semaphore(options).acquire();
      await scope.ageTicket(gone, 0);
      const { held, holders } = await scope.elsewhere().inspect();
      await three.extend();
      expect(held).to.equal(5);
      const labels = [strange, '', `${hostname()}:${process.pid}`];
      for (const [i, handle] of [three, unlabelled, byDefault].entries()) {
        const { id, slots, fencingToken } = handle;
        const holder = holders.find((each) => each.id === id);
        expect(holder).to.deep.include({ slots: [...slots], fencingToken, label: labels[i] });
        expect(holder?.expiresIn).to.be.within(15_000, 20_000);
        expect(holder?.heldFor).to.be.within(0, 5000);
      }
      expect(holders).to.have.lengthOf(3);
    },

    'shows who waits, in what order': needing('queue', async (scope) => {
      await scope.elsewhere({ limit: 2, label: 'holder' }).acquire({ permits: 2 });
      const labels = ['first', 'waits; here|now', 'third'];
      const semaphores = [
        scope.semaphore({ limit: 2, label: labels[0] ?? '' }),
        scope.elsewhere({ limit: 2, label: labels[1] ?? '' }),
        scope.semaphore({ limit: 2, label: labels[2] ?? '' }),
      ];
      const ends: Promise<unknown>[] = [];
      for (const [i, semaphore] of semaphores.entries()) {
        ends.push(reasonOf(semaphore.acquire({ permits: i === 1 ? 2 : 1 })));
        await scope.untilWaiting(i + 1);
      }
      const { waiting, waiters, holders } = await scope.elsewhere({ limit: 2 }).inspect();
      expect(waiting).to.equal(3);
      expect(holders.map(({ label }) => label)).to.deep.equal(['holder']);
      expect(waiters.map(({ label }) => label)).to.deep.equal(labels);
      expect(waiters.map(({ position }) => position)).to.deep.equal([0, 1, 2]);
      expect(waiters.map(({ permits }) => permits)).to.deep.equal([1, 2, 1]);
      for (const { waitingFor } of waiters) expect(waitingFor).to.be.within(0, 3_600_000);
      expect(new Set(waiters.map(({ id }) => id))).to.have.lengthOf(3);
      await Promise.all(semaphores.map((semaphore) => semaphore.close()));
      await Promise.all(ends);
    }),

    'shows more than a thousand holders': async (scope) => {
      const semaphore = scope.semaphore({ limit: Number.MAX_SAFE_INTEGER });
      const handles = await Promise.all(Array.from({ length: 1100 }, () => semaphore.acquire()));
      const { held, limit, holders } = await scope.elsewhere().inspect();
      expect([held, limit]).to.deep.equal([1100, 1]);
      expect(holders.map(({ id }) => id)).to.have.members(handles.map(({ id }) => id));
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect(released.every(Boolean)).to.equal(true);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },
  },
};
