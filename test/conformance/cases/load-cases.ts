import { expect } from 'chai';

import { eventually } from '../../support/eventually.js';
import { collectGarbage } from '../../support/garbage.js';
import { moment } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { inTurns } from '../in-turns.js';
import { warningsDuring } from '../warnings.js';

const LOADS = [
  { limit: 10, taken: 0, tasks: 100 },
  { limit: 3, taken: 0, tasks: 150 },
  { limit: 1, taken: 0, tasks: 40 },
  { limit: 5, taken: 4, tasks: 20 },
];

/** [M 2-5, M 13, M 20, RD 8, RU 2, BQ 1] */
export const loadCases: CaseGroup = {
  title: 'many at a time',
  cases: {
    'take all permits and never more, however many want them [P1]': async (scope) => {
      for (const { limit, taken, tasks } of LOADS) {
        const semaphores = scope.pair({ limit }, scope.freshName());
        if (taken > 0) await semaphores[0].acquire({ permits: taken });
        const free = limit - taken;
        let [inside, peak, entries] = [0, 0, 0];
        const job = async (): Promise<void> => {
          inside += 1;
          entries += 1;
          peak = Math.max(peak, inside);
          // Nobody leaves before all places were taken.
          await eventually(() => peak >= free);
          await moment(entries % 3);
          inside -= 1;
        };
        await inTurns(semaphores, tasks, (semaphore) => semaphore.use(job));
        expect([inside, peak, entries]).to.deep.equal([0, free, tasks]);
        expect(await semaphores[1].inspect()).to.include({ held: taken, waiting: 0 });
      }
    },

    'have one winner when all try at the same moment': async (scope) => {
      const semaphores = [...scope.pair(), scope.semaphore({ label: 'third' })];
      const tried = await inTurns(semaphores, 30, (semaphore) => semaphore.tryAcquire());
      expect(tried.filter((handle) => handle !== null)).to.have.lengthOf(1);
    },

    'may drop handles: they are extended no more, with a warning': async (scope) => {
      const semaphore = scope.semaphore({ ttl: 20_000, extendEvery: 15 });
      // Handles that tests before this one have dropped may be collected now, too.
      const codesOf = (warnings: readonly Error[]): unknown[] =>
        warnings
          .filter(({ message }) => message.includes(JSON.stringify(scope.name)))
          .map((warning) => ('code' in warning ? warning.code : warning.name));
      const acquireAndDrop = async (): Promise<void> => void (await semaphore.acquire(0));
      const all = await warningsDuring(async (warnings) => {
        await acquireAndDrop();
        await moment(20);
        await eventually(() => {
          collectGarbage();
          expect(codesOf(warnings)).to.include('REDSEM_HANDLE_DROPPED');
        });
      });
      expect(codesOf(all)).to.deep.equal(['REDSEM_HANDLE_DROPPED']);
      const [holder] = (await semaphore.inspect()).holders;
      await scope.ageTicket({ name: scope.name, id: holder?.id ?? '' }, 40);
      expect(await scope.elsewhere().acquire()).to.include({ held: true });
    },
  },
};
