import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { AcquireTimeoutError } from '../../../src/index.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { inTurns } from '../in-turns.js';

/** [RS 22, BN 25, RL5 7, RD 15, AM, Curator] */
export const permitCases: CaseGroup = {
  title: 'permits and slots',
  cases: {
    'are taken and given back several at once, the lowest free slots first': async (scope) => {
      const [here, there] = scope.pair({ limit: 6 });
      const four = await here.acquire({ permits: 4 });
      expect(four.slots).to.deep.equal([0, 1, 2, 3]);
      expect(four.slot).to.equal(0);
      expect(await there.inspect()).to.include({ held: 4 });
      expect(await four.release()).to.equal(true);
      expect(await there.inspect()).to.include({ held: 0 });
      const handles: Handle[] = [];
      for (let i = 0; i < 6; i += 1) handles.push(await here.acquire(0));
      expect(handles.map(({ slot }) => slot)).to.deep.equal([0, 1, 2, 3, 4, 5]);
      for (const i of [4, 1, 3]) await handles[i]?.release();
      expect((await here.acquire({ permits: 2, timeout: 0 })).slots).to.deep.equal([1, 3]);
      expect((await here.acquire(0)).slots).to.deep.equal([4]);
    },

    'count large and small requests against one limit, each as a whole': async (scope) => {
      const [here, there] = scope.pair({ limit: 4 });
      const two = await here.acquire({ permits: 2 });
      const one = await there.acquire();
      expect(await there.tryAcquire({ permits: 2 })).to.equal(null);
      await errorOf(there.acquire({ permits: 2, timeout: 20 }), AcquireTimeoutError);
      expect(await there.inspect()).to.include({ held: 3, waiting: 0 });
      await two.release();
      expect(one.slots).to.deep.equal([2]);
      expect((await there.tryAcquire({ permits: 3 }))?.slots).to.deep.equal([0, 1, 3]);
      expect(await here.tryAcquire()).to.equal(null);
    },

    'are taken and given back in one call, however many': needing('server', async (scope) => {
      const semaphore = scope.semaphore({ limit: 500 });
      await (await semaphore.acquire()).release();
      const scripts = async (): Promise<number> => (await scope.server.calls())['evalsha'] ?? 0;
      const before = await scripts();
      const handle = await semaphore.acquire({ permits: 500 });
      expect(await scripts()).to.equal(before + 1);
      expect(new Set(handle.slots)).to.have.lengthOf(500);
      await handle.extend();
      await handle.release();
      expect(await scripts()).to.equal(before + 3);
    }),

    'never use a slot twice, whatever is taken and given back [P1]': async (scope) => {
      const used = new Set<number>();
      await inTurns(scope.pair({ limit: 5 }), 60, async (semaphore, i) => {
        const permits = 1 + ((i * 7) % 5);
        await using handle = await semaphore.acquire({ permits });
        expect(handle.slots).to.have.lengthOf(permits);
        for (const slot of handle.slots) {
          expect(used.has(slot), `slot ${slot} is used twice`).to.equal(false);
          expect(slot).to.be.within(0, 4);
          used.add(slot);
        }
        await moment();
        for (const slot of handle.slots) used.delete(slot);
      });
    },
  },
};
