import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError } from '../../../src/index.js';
import { moment } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { inTurns } from '../in-turns.js';
import { errorOf } from '../../support/rejection.js';

const retry = { min: 5, max: 20 };

/** Takes and gives back, and watches that no slot is ever used twice at a time. */
async function useSlots(semaphore: Semaphore, permits: number, used: Set<number>): Promise<void> {
  await semaphore.use(
    async ({ slots }) => {
      expect(slots).to.have.lengthOf(permits);
      for (const slot of slots) {
        expect(used.has(slot), `slot ${slot} is used twice`).to.equal(false);
        expect(slot).to.be.within(0, semaphore.limit - 1);
        used.add(slot);
      }
      await moment();
      for (const slot of slots) used.delete(slot);
    },
    { permits },
  );
}

export const permitCases: CaseGroup = {
  title: 'permits and slots',
  cases: {
    'takes several permits at once, and gives them back at once [RS 22, BN 25]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 5 }), scope.elsewhere({ limit: 5 })];
      const handle = await here.acquire({ permits: 4 });
      expect(handle.slots).to.deep.equal([0, 1, 2, 3]);
      expect(handle.slot).to.equal(0);
      expect(await there.inspect()).to.include({ held: 4 });
      expect(await handle.release()).to.equal(true);
      expect(await there.inspect()).to.include({ held: 0 });
    },

    'gives out the lowest free slots first': async (scope) => {
      const semaphore = scope.semaphore({ limit: 6 });
      const handles: Handle[] = [];
      for (let i = 0; i < 6; i += 1) handles.push(await semaphore.acquire(0));
      expect(handles.map(({ slot }) => slot)).to.deep.equal([0, 1, 2, 3, 4, 5]);
      for (const i of [4, 1, 3]) await handles[i]?.release();
      expect((await semaphore.acquire({ permits: 2, timeout: 0 })).slots).to.deep.equal([1, 3]);
      expect((await semaphore.acquire(0)).slots).to.deep.equal([4]);
    },

    'counts large and small requests against one limit [RS 22]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      const two = await here.acquire({ permits: 2 });
      const one = await there.acquire();
      expect(await there.tryAcquire()).to.equal(null);
      await two.release();
      expect((await there.tryAcquire({ permits: 2 }))?.slots).to.deep.equal([0, 1]);
      expect(one.slots).to.deep.equal([2]);
    },

    'keeps nothing of a request that does not fit as a whole [RL5 7, Curator]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 4 })];
      await here.acquire({ permits: 2 });
      expect(await there.tryAcquire({ permits: 3 })).to.equal(null);
      await errorOf(there.acquire({ permits: 3, timeout: 20 }), AcquireTimeoutError);
      expect(await there.inspect()).to.include({ held: 2, waiting: 0 });
      expect(await there.tryAcquire({ permits: 2 })).to.not.equal(null);
    },

    'gives all permits to one request of the whole limit': async (scope) => {
      const semaphore = scope.semaphore({ limit: 1000 });
      const handle = await semaphore.acquire({ permits: 1000 });
      expect(new Set(handle.slots)).to.have.lengthOf(1000);
      expect(await semaphore.tryAcquire()).to.equal(null);
    },

    'takes and gives back in one call, however many': needing('server', async (scope) => {
      const semaphore = scope.semaphore({ limit: 500 });
      await (await semaphore.acquire()).release();
      const scripts = async (): Promise<number> => {
        const { evalsha = 0 } = await scope.server.calls();
        return evalsha;
      };
      const before = await scripts();
      const handle = await semaphore.acquire({ permits: 500 });
      expect(await scripts()).to.equal(before + 1);
      await handle.extend();
      await handle.release();
      expect(await scripts()).to.equal(before + 3);
    }),

    'serves two that each want everything, in turn [RD 15, Curator]': async (scope) => {
      const semaphores = [
        scope.semaphore({ limit: 2, retry }),
        scope.elsewhere({ limit: 2, retry }),
      ];
      let inside = 0;
      const work = async (): Promise<void> => {
        inside += 1;
        expect(inside).to.equal(1);
        await moment();
        inside -= 1;
      };
      const options = { permits: 2 };
      await inTurns(semaphores, 6, (semaphore) => semaphore.use(work, options));
    },

    'does not let small requests starve a large one at the head [P3, AM]': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 3, retry }),
        scope.elsewhere({ limit: 3, retry }),
      ];
      const holders = [await here.acquire(), await here.acquire(), await here.acquire()];
      const served: string[] = [];
      const large = here
        .acquire({ permits: 3 })
        .then((handle) => [served.push('large'), handle] as const);
      await scope.untilWaiting(1);
      const small = Array.from({ length: 4 }, async () => {
        const handle = await there.acquire();
        served.push('small');
        await handle.release();
      });
      await scope.untilWaiting(5);
      for (const holder of holders) await holder.release();
      const [, handle] = await large;
      expect(served).to.deep.equal(['large']);
      await handle.release();
      await Promise.all(small);
      expect(served).to.deep.equal(['large', 'small', 'small', 'small', 'small']);
    },

    'lets a holder of one wait for two until its own is free, too [RD 15]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2, retry });
      const one = await semaphore.acquire();
      const two = semaphore.acquire({ permits: 2 });
      await scope.untilWaiting(1);
      await one.release();
      expect((await two).slots).to.deep.equal([0, 1]);
    },

    'never uses a slot twice, whatever is taken and given back [P1]': async (scope) => {
      const limit = 5;
      const semaphores = [scope.semaphore({ limit, retry }), scope.elsewhere({ limit, retry })];
      const used = new Set<number>();
      await inTurns(semaphores, 60, (semaphore, i) => useSlots(semaphore, 1 + ((i * 7) % 3), used));
      expect(used).to.have.lengthOf(0);
    },
  },
};
