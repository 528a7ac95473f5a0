import { expect } from 'chai';

import { type Handle } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { type CaseGroup } from '../case-group.js';

/** `most`: of how many permits the largest request is. */
const LOADS = [
  { limit: 10, taken: 0, tasks: 100, most: 1 },
  { limit: 3, taken: 0, tasks: 150, most: 1 },
  { limit: 1, taken: 0, tasks: 40, most: 1 },
  { limit: 5, taken: 4, tasks: 20, most: 1 },
  { limit: 5, taken: 0, tasks: 60, most: 5 },
];

export const permitCases: CaseGroup = {
  title: 'permits, slots and fencing tokens',
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

    'are all taken and never one twice, however many want them [P1]': async (scope) => {
      for (const { limit, taken, tasks, most } of LOADS) {
        const semaphores = scope.pair({ limit }, scope.freshName());
        const holder = taken > 0 ? await semaphores[0].acquire({ permits: taken }) : { slots: [] };
        const used = new Set(holder.slots);
        let peak = 0;
        const task = async (i: number): Promise<void> => {
          const semaphore = semaphores[i % 2] ?? semaphores[0];
          await using handle = await semaphore.acquire({ permits: 1 + ((i * 7) % most) });
          for (const slot of handle.slots) {
            expect(used.has(slot), `slot ${slot} is used twice`).to.equal(false);
            expect(slot).to.be.within(0, limit - 1);
            used.add(slot);
          }
          peak = Math.max(peak, used.size);
          // Nobody leaves before all places were taken.
          if (most === 1) await eventually(() => peak === limit);
          await moment(i % 3);
          for (const slot of handle.slots) used.delete(slot);
        };
        await Promise.all(Array.from({ length: tasks }, (_, i) => task(i)));
        expect(peak).to.equal(limit);
        expect(await semaphores[1].inspect()).to.include({ held: taken, waiting: 0 });
      }
    },
  },
};
