import { expect } from 'chai';

import { type CaseGroup } from '../case-group.js';

export const limitCases: CaseGroup = {
  title: 'a live limit',
  needs: ['operator calls'],
  cases: {
    'counts for every process from its next call': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const other = scope.semaphore({ limit: 2 }, scope.freshName());
      await (await there.acquire()).extend();
      const warnings: unknown[] = [];
      for (const each of [here, there]) each.on('warning', (warning) => warnings.push(warning));
      await here.setLimit(3);
      expect([here.limit, there.limit]).to.deep.equal([3, 2]);
      expect(await there.tryAcquire()).to.include({ slot: 1 });
      expect(there.limit).to.equal(3);
      expect(await scope.elsewhere({ limit: 9 }).tryAcquire()).to.include({ slot: 2 });
      for (const limit of [1, 2, 9]) {
        expect(await scope.elsewhere({ limit }).tryAcquire()).to.equal(null);
      }
      for (const limit of [2, 2, 1, 1_000_000, Number.MAX_SAFE_INTEGER, 3]) {
        await here.setLimit(limit);
        expect((await there.inspect()).limit).to.equal(limit);
        expect(there.limit).to.equal(limit);
      }
      await other.acquire();
      expect(await other.tryAcquire(), 'another name').to.include({ slot: 1 });
      expect(other.limit).to.equal(2);
      expect(warnings).to.deep.equal([]);
    },

    'is shown with where it is from': async (scope) => {
      const [here, there] = scope.pair({ limit: 2 });
      const stranger = scope.semaphore({ limit: 9 });
      const shown = async (): Promise<unknown[]> => {
        const { limit, limitFrom } = await stranger.inspect();
        return [limit, limitFrom, stranger.limit];
      };
      expect(await shown()).to.deep.equal([9, 'options', 9]);
      await there.acquire();
      expect(await shown()).to.deep.equal([2, 'caller', 9]);
      await here.setLimit(5);
      expect(await shown()).to.deep.equal([5, 'setLimit', 5]);
    },

    'takes no permit away when it shrinks, gives slots below it': async (scope) => {
      const [here, there] = scope.pair({ limit: 3 });
      const handles = [await here.acquire(), await there.acquire(), await here.acquire()];
      const [first, second, third] = handles;
      await there.setLimit(2);
      expect(await here.inspect()).to.include({ limit: 2, held: 3, waiting: 0 });
      for (const handle of handles) await handle.extend();
      expect(handles.map(({ held }) => held)).to.deep.equal([true, true, true]);
      for (const handle of [first, second]) {
        expect(await here.tryAcquire()).to.equal(null);
        expect(await there.tryAcquire()).to.equal(null);
        expect(await handle?.release()).to.equal(true);
      }
      expect(third?.slot).to.equal(2);
      expect(await there.tryAcquire()).to.include({ slot: 0 });
      expect(await here.tryAcquire()).to.equal(null);
      await third?.release();
      expect(await here.tryAcquire()).to.include({ slot: 1 });
      expect(await there.tryAcquire()).to.equal(null);
    },
  },
};
