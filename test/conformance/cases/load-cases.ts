import { expect } from 'chai';

import type { Semaphore } from '../../../src/index.js';
import { collectGarbage } from '../../support/garbage.js';
import type { CaseGroup } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { Gauge } from '../gauge.js';
import { inTurns } from '../in-turns.js';
import { warningsDuring } from '../warnings.js';

const retry = { min: 2, max: 10 };

async function runInside(semaphore: Semaphore, gauge: Gauge, hold: number): Promise<void> {
  await semaphore.use(async () => {
    gauge.enter();
    await moment(hold);
    gauge.leave();
  });
}

function codeOf(warning: Error): unknown {
  return 'code' in warning ? warning.code : warning.name;
}

async function acquireAndDrop(semaphore: Semaphore): Promise<void> {
  await semaphore.acquire(0);
}

export const loadCases: CaseGroup = {
  title: 'many at a time',
  cases: {
    'fill the limit of 10 exactly with 100 tasks, and never pass it [M 5, BQ 1]': async (scope) => {
      const semaphores = [
        scope.semaphore({ limit: 10, retry }),
        scope.elsewhere({ limit: 10, retry }),
      ];
      const gauge = new Gauge();
      const fill = async (): Promise<void> => {
        gauge.enter();
        // Nobody leaves before all ten places were taken.
        await eventually(() => gauge.peak >= 10);
        await moment(15);
        gauge.leave();
      };
      await inTurns(semaphores, 100, (semaphore) => semaphore.use(fill));
      expect(gauge.peak).to.equal(10);
      expect(gauge.level).to.equal(0);
      expect(await scope.semaphore().inspect()).to.include({ held: 0, waiting: 0 });
    },

    'see the levels 1, 2 and 3 and no other, over 25 rounds of 10 tasks [M 2]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3, retry });
      const gauge = new Gauge();
      const rounds = async (): Promise<void> => {
        for (let round = 0; round < 25; round += 1) await runInside(semaphore, gauge, 1);
      };
      await Promise.all(Array.from({ length: 10 }, rounds));
      expect(gauge.levels).to.deep.equal(new Set([1, 2, 3]));
      expect(gauge.entries).to.equal(250);
    },

    'see one at a time with a limit of 1 [M 13, RD 8]': async (scope) => {
      const semaphores = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      let counter = 0;
      const increment = async (): Promise<void> => {
        const read = counter;
        await moment(0);
        counter = read + 1;
      };
      await inTurns(semaphores, 40, (semaphore) => semaphore.use(increment));
      expect(counter).to.equal(40);
    },

    'see one at a time with a limit of 5 of which 4 are taken [M 3]': async (scope) => {
      const semaphores = [
        scope.semaphore({ limit: 5, retry }),
        scope.elsewhere({ limit: 5, retry }),
      ];
      await scope.semaphore({ limit: 5 }).acquire({ permits: 4 });
      const gauge = new Gauge();
      await inTurns(semaphores, 20, (semaphore) => runInside(semaphore, gauge, 1));
      expect(gauge.levels).to.deep.equal(new Set([1]));
    },

    'hold 100 at once with the largest limit and the longest name [M 4]': async (scope) => {
      const name = scope.freshName().padEnd(512, 'long name');
      const semaphore = scope.semaphore({ limit: Number.MAX_SAFE_INTEGER }, name);
      const handles = await Promise.all(Array.from({ length: 100 }, () => semaphore.acquire()));
      const slots = handles.map(({ slot }) => slot).toSorted((a, b) => a - b);
      expect(slots).to.deep.equal(Array.from({ length: 100 }, (_, i) => i));
      expect(await semaphore.inspect()).to.include({ limit: Number.MAX_SAFE_INTEGER, held: 100 });
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect(released.every(Boolean)).to.equal(true);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'have one winner when all try at the same moment [RU 2]': async (scope) => {
      const semaphores = [
        scope.semaphore(),
        scope.elsewhere(),
        scope.semaphore({ label: 'third' }),
      ];
      const tried = await inTurns(semaphores, 30, (semaphore) => semaphore.tryAcquire());
      expect(tried.filter((handle) => handle !== null)).to.have.lengthOf(1);
    },

    'may drop handles: they are extended no more, with a warning [M 20]': async (scope) => {
      const semaphore = scope.semaphore({ ttl: 20_000, extendEvery: 15 });
      // Handles that tests before this one have dropped may be collected now, too.
      const ownCodes = (warnings: readonly Error[]): unknown[] =>
        warnings.filter(({ message }) => message.includes(JSON.stringify(scope.name))).map(codeOf);
      const all = await warningsDuring(async (warnings) => {
        await acquireAndDrop(semaphore);
        await moment(20);
        await eventually(() => {
          collectGarbage();
          expect(ownCodes(warnings)).to.include('REDSEM_HANDLE_DROPPED');
        });
      });
      expect(ownCodes(all)).to.deep.equal(['REDSEM_HANDLE_DROPPED']);
      const [holder] = (await semaphore.inspect()).holders;
      await scope.ageTicket({ name: scope.name, id: holder?.id ?? '' }, 40);
      const next = await scope.elsewhere({ retry }).acquire();
      expect(next.held).to.equal(true);
    },
  },
};
