import { expect } from 'chai';

import type { CaseGroup } from '../case-group.js';
import { eventually } from '../../support/eventually.js';

export const inspectCases: CaseGroup = {
  title: 'inspect',
  cases: {
    'tells of a semaphore that nobody has used [M 33]': async (scope) => {
      expect(await scope.semaphore({ limit: 7 }).inspect()).to.deep.equal({
        name: scope.name,
        limit: 7,
        held: 0,
        waiting: 0,
        holders: [],
        waiters: [],
      });
    },

    'follows two acquires and two releases [M 33, RD 9]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      const seen: number[] = [];
      const look = async (): Promise<void> => void seen.push((await there.inspect()).held);
      const one = await here.acquire();
      await look();
      const two = await there.acquire();
      await look();
      await one.release();
      await look();
      await two.release();
      await look();
      expect(seen).to.deep.equal([1, 2, 1, 0]);
    },

    'tells who holds what [RU 15]': async (scope) => {
      const label = 'worker 7; über|all 😀 100%';
      const semaphore = scope.semaphore({ limit: 5, ttl: 20_000, label });
      const one = await semaphore.acquire();
      const three = await semaphore.acquire({ permits: 3 });
      const { held, holders } = await scope.elsewhere({ limit: 5 }).inspect();
      expect(held).to.equal(4);
      expect(holders).to.have.lengthOf(2);
      for (const handle of [one, three]) {
        const holder = holders.find(({ id }) => id === handle.id);
        expect(holder?.slots).to.deep.equal(handle.slots);
        expect(holder).to.include({ label, fencingToken: handle.fencingToken });
        expect(holder?.expiresIn).to.be.within(15_000, 20_000);
        expect(holder?.heldFor).to.be.within(0, 5000);
      }
    },

    'tells who waits, in what order [RL#56, AS]': async (scope) => {
      await scope.elsewhere({ limit: 2 }).acquire({ permits: 2 });
      const semaphores = [
        scope.semaphore({ limit: 2, label: 'first' }),
        scope.elsewhere({ limit: 2, label: 'second' }),
        scope.semaphore({ limit: 2, label: 'third' }),
      ];
      const ends: Promise<unknown>[] = [];
      for (const [i, semaphore] of semaphores.entries()) {
        const permits = i === 1 ? 2 : 1;
        ends.push(semaphore.acquire({ permits }).catch((error: unknown) => error));
        await scope.untilWaiting(i + 1);
      }
      const { waiting, waiters } = await scope.elsewhere({ limit: 2 }).inspect();
      expect(waiting).to.equal(3);
      expect(waiters.map(({ position }) => position)).to.deep.equal([0, 1, 2]);
      expect(waiters.map(({ permits }) => permits)).to.deep.equal([1, 2, 1]);
      expect(
        waiters.map(({ waitingFor }) => waitingFor >= 0 && waitingFor < 3_600_000),
      ).to.deep.equal([true, true, true]);
      expect(new Set(waiters.map(({ id }) => id))).to.have.lengthOf(3);
      await Promise.all(semaphores.map((semaphore) => semaphore.close()));
      await Promise.all(ends);
    },

    'tells the label of those who wait in other processes': async (scope) => {
      await scope.elsewhere({ label: 'holder' }).acquire();
      const semaphore = scope.semaphore({ label: 'waits; here|now' });
      const waiting = semaphore.acquire().catch((error: unknown) => error);
      await scope.untilWaiting(1);
      const { holders, waiters } = await scope.elsewhere().inspect();
      expect(holders.map(({ label }) => label)).to.deep.equal(['holder']);
      expect(waiters.map(({ label }) => label)).to.deep.equal(['waits; here|now']);
      await semaphore.close();
      await waiting;
    },

    'labels with host and process by default, and with nothing where that is asked for': async (
      scope,
    ) => {
      await scope.semaphore({ limit: 2 }).acquire();
      await scope.semaphore({ limit: 2, label: '' }).acquire();
      const { holders } = await scope.elsewhere({ limit: 2 }).inspect();
      const labels = holders.map(({ label }) => label).toSorted();
      expect(labels[0]).to.equal('');
      expect(labels[1]).to.match(new RegExp(`.:${process.pid}$`));
    },

    'does not count what has expired [anchors: stale inspection]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const [gone, kept] = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
      await scope.ageTicket(gone, 0);
      const { held, holders } = await scope.elsewhere({ limit: 3 }).inspect();
      expect(held).to.equal(1);
      expect(holders.map(({ id }) => id)).to.deep.equal([kept.id]);
    },

    'tells the limit that is stored for all, with more held than it allows': async (scope) => {
      const semaphore = scope.semaphore({ limit: 4 });
      await semaphore.acquire({ permits: 3 });
      await semaphore.setLimit(2);
      const state = await scope.elsewhere({ limit: 9 }).inspect();
      expect(state).to.include({ limit: 2, held: 3, waiting: 0 });
    },

    'tells of hundreds [M 33]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 1200 });
      const handles = await Promise.all(Array.from({ length: 1100 }, () => semaphore.acquire()));
      const { held, holders } = await scope.elsewhere({ limit: 1200 }).inspect();
      expect(held).to.equal(1100);
      const ids = new Set(holders.map(({ id }) => id));
      expect(handles.every(({ id }) => ids.has(id))).to.equal(true);
      expect(ids).to.have.lengthOf(1100);
    },

    'changes nothing [BQ 17]': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const handle = await here.acquire();
      const first = await there.inspect();
      await eventually(async () => {
        const again = await there.inspect();
        expect(again.holders.map(({ id }) => id)).to.deep.equal([handle.id]);
        expect(again.holders[0]?.expiresIn).to.be.below(first.holders[0]?.expiresIn ?? 0);
      });
    },
  },
};
