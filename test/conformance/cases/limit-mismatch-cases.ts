import { expect } from 'chai';

import type { Semaphore, SemaphoreWarning } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';

/** What the semaphore tells of its limit from now on. */
function tellings(semaphore: Semaphore): SemaphoreWarning[] {
  const heard: SemaphoreWarning[] = [];
  semaphore.on('warning', (warning) => {
    if (warning.code === 'LIMIT_MISMATCH') heard.push(warning);
  });
  return heard;
}

/** Takes and gives back so often. */
async function useOften(semaphore: Semaphore, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await semaphore.use(() => {});
}

export const limitMismatchCases: CaseGroup = {
  title: 'processes with different limits',
  cases: {
    'are told so, each of them once': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const [heardHere, heardThere] = [tellings(here), tellings(there)];
      await here.acquire();
      await there.acquire();
      for (let round = 0; round < 3; round += 1) {
        await useOften(here, 2);
        await useOften(there, 2);
      }
      await eventually(() => {
        expect([heardHere, heardThere].map(({ length }) => length)).to.deep.equal([1, 1]);
      });
      expect(heardHere[0]?.message)
        .to.match(/limit 4 here and 5 elsewhere/)
        .and.include(scope.name);
      expect(heardThere[0]?.message).to.match(/limit 5 here and 4 elsewhere/);
    },

    'obey each their own meanwhile': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 1 }), scope.elsewhere({ limit: 2 })];
      await here.acquire();
      expect(await there.tryAcquire()).to.include({ slot: 1 });
      expect(await here.tryAcquire()).to.equal(null);
      expect(await there.tryAcquire()).to.equal(null);
      expect([here.limit, there.limit]).to.deep.equal([1, 2]);
    },

    'are told when they wait for each other, too': async (scope) => {
      const [here, there] = [
        scope.semaphore({ limit: 1 }),
        scope.elsewhere({ limit: 2, retry: { min: 5, max: 20 } }),
      ];
      const heard = tellings(there);
      const holder = await here.acquire();
      const waiting = there.acquire({ permits: 2 });
      await scope.untilWaiting(1);
      await holder.release();
      await waiting;
      await eventually(() => expect(heard).to.have.lengthOf(1));
    },

    'are told when somebody listens only later': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      await there.acquire();
      await useOften(here, 2);
      const heard = tellings(here);
      await useOften(here, 2);
      await eventually(() => expect(heard).to.have.lengthOf(1));
    },

    'are told nothing once a limit is stored': async (scope) => {
      const semaphores = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const heard = semaphores.map(tellings);
      await scope.elsewhere({ limit: 6 }).setLimit(4);
      for (const semaphore of semaphores) await semaphore.acquire();
      for (const semaphore of semaphores) await useOften(semaphore, 2);
      await moment();
      expect(heard).to.deep.equal([[], []]);
    },

    'are told nothing when their limits are the same': async (scope) => {
      const semaphores = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 4 })];
      const heard = semaphores.map(tellings);
      for (const semaphore of semaphores) await semaphore.acquire();
      for (const semaphore of semaphores) await useOften(semaphore, 2);
      await moment();
      expect(heard).to.deep.equal([[], []]);
    },

    'are told nothing when one comes after the other has gone': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const heard = tellings(there);
      await useOften(here, 2);
      await useOften(there, 2);
      await moment();
      expect(heard).to.deep.equal([]);
    },
  },
};
