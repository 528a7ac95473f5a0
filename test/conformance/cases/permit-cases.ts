import { expect } from 'chai';

import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { type CaseGroup } from '../case-group.js';

/** `most`: the permits of the largest request. */
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
    'are all taken and no slot twice, however many tasks want them [P1]': async (scope) => {
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
          // No task leaves before all slots were taken.
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
