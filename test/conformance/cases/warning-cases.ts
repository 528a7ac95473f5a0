import { expect } from 'chai';

import type { KeyedMutex, KeyedMutexOptions, Semaphore } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import type { Scope } from '../scope.js';

const DAY = 86_400_000;

/** The messages of one kind of warning from now on. */
function warningsOf(source: Semaphore | KeyedMutex, code: string): string[] {
  const heard: string[] = [];
  source.on('warning', (warning) => {
    if (warning.code === code) heard.push(warning.message);
  });
  return heard;
}

async function useAll(semaphores: readonly Semaphore[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const semaphore of semaphores) await semaphore.use(() => {});
  }
}

/** Another process takes and gives back a key: what it hears of that. */
async function useKey(scope: Scope, options: KeyedMutexOptions): Promise<string[]> {
  const [, mutex] = scope.keyed(options);
  const heard = warningsOf(mutex, 'STRIPES_MISMATCH');
  await mutex.use('key', () => {});
  return heard;
}

async function expectOne(heard: readonly string[], message: string): Promise<void> {
  await eventually(() => expect(heard).to.have.lengthOf(1));
  expect(heard[0]).to.include(message);
}

/** [anchors: limit disagreement] */
export const warningCases: CaseGroup = {
  title: 'processes that disagree',
  cases: {
    'about the limit obey each their own, and each gets one warning': async (scope) => {
      const semaphores = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const [here, there] = semaphores;
      await there?.acquire({ permits: 3 });
      await here?.acquire();
      expect(await here?.tryAcquire()).to.equal(null);
      expect(semaphores.map(({ limit }) => limit)).to.deep.equal([4, 5]);
      await there?.use(() => {});
      // Nobody listened so far.
      const heard = semaphores.map((semaphore) => warningsOf(semaphore, 'LIMIT_MISMATCH'));
      await eventually(async () => {
        await there?.tryUse(() => {});
        await here?.tryUse(() => {});
        expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
      });
      for (let round = 0; round < 3; round += 1) {
        await there?.use(() => {});
        await here?.tryUse(() => {});
      }
      await moment();
      expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
      expect(heard[0]?.[0])
        .to.match(/limit 4 here and 5 elsewhere/)
        .and.include(scope.name);
      expect(heard[1]?.[0]).to.match(/limit 5 here and 4 elsewhere/);
    },

    'get no warning with one limit, nor when one comes after the other has gone': async (scope) => {
      const equal = scope.pair({ limit: 4 });
      const other = scope.elsewhere({ limit: 5 });
      const heard = [...equal, other].map((each) => warningsOf(each, 'LIMIT_MISMATCH'));
      for (const semaphore of equal) await semaphore.acquire();
      await useAll(equal, 2);
      await equal[0].close();
      await equal[1].close();
      await useAll([other], 2);
      await moment();
      expect(heard).to.deep.equal([[], [], []]);
    },

    'get no warning once a limit is stored': needing('operator calls', async (scope) => {
      const semaphores = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const heard = semaphores.map((each) => warningsOf(each, 'LIMIT_MISMATCH'));
      await scope.elsewhere({ limit: 6 }).setLimit(4);
      for (const semaphore of semaphores) await semaphore.acquire();
      await useAll(semaphores, 2);
      await moment();
      expect(heard).to.deep.equal([[], []]);
    }),

    'about stripes get one warning each': needing('operator calls', async (scope) => {
      for (const [options, here, elsewhere] of [
        [{ name: scope.freshName(), stripes: 16 }, '16 stripes', '16'],
        [{ name: scope.freshName() }, 'no stripes', 'none'],
      ] as const) {
        const first = await useKey(scope, options);
        const second = await useKey(scope, { ...options, stripes: 8 });
        await expectOne(second, `8 stripes here and ${elsewhere} elsewhere`);
        expect(second[0]).to.include(options.name);
        await expectOne(await useKey(scope, options), `${here} here and 8 elsewhere`);
        const [late] = scope.keyed(options);
        await late.use('key', () => {});
        const heard = warningsOf(late, 'STRIPES_MISMATCH');
        await eventually(async () => {
          await late.use('key', () => {});
          expect(heard).to.have.lengthOf(1);
        });
        expect([first, second].map(({ length }) => length)).to.deep.equal([0, 1]);
      }
    }),

    'get no warning of equal or other stripes': needing('operator calls', async (scope) => {
      const others = [{}, { name: scope.freshName(), stripes: 8 }, { prefix: 'elsewhere' }, {}];
      const heard: string[] = [];
      for (const options of others) {
        heard.push(...(await useKey(scope, { stripes: 'prefix' in options ? 8 : 16, ...options })));
      }
      await moment(5);
      expect(heard).to.deep.equal([]);
    }),

    'about stripes leave one key, for a day [P8]': needing('keys', async (scope) => {
      await useKey(scope, { stripes: 16 });
      await eventually(async () => {
        const keys = await scope.ownKeys(`keyed:${scope.name}`);
        expect([...keys.keys()]).to.deep.equal(['stripes']);
        expect(keys.get('stripes')).to.be.within(DAY - 60_000, DAY);
      });
    }),
  },
};
