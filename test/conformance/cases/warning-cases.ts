import { expect } from 'chai';

import type { KeyedMutex, KeyedMutexOptions, Semaphore } from '../../../src/index.js';
import { KeyedSemaphore } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { type CaseGroup, needing } from '../case-group.js';
import type { Scope } from '../scope.js';

const DAY = 86_400_000;

/** The messages of one kind of warning from now on. */
function warningsOf(source: Semaphore | KeyedMutex | KeyedSemaphore, code: string): string[] {
  const heard: string[] = [];
  source.on('warning', (warning) => {
    if (warning.code === code) heard.push(warning.message);
  });
  return heard;
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

export const warningCases: CaseGroup = {
  title: 'processes that disagree',
  cases: {
    'about the limit obey each their own, and get one warning each': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      await there.acquire({ permits: 3 });
      await here.acquire();
      await there.use(() => {});
      expect(await here.tryAcquire()).to.equal(null);
      expect([here.limit, there.limit]).to.deep.equal([4, 5]);
      // Nobody listened so far.
      const heard = [here, there].map((semaphore) => warningsOf(semaphore, 'LIMIT_MISMATCH'));
      const use = async (): Promise<void> => {
        for (const semaphore of [here, there]) await semaphore.tryUse(() => {});
        expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
      };
      await eventually(use);
      for (let round = 0; round < 3; round += 1) await use();
      expect(heard[0]?.[0]).to.include('limit 4 here and 5 elsewhere').and.include(scope.name);
      expect(heard[1]?.[0]).to.include('limit 5 here and 4 elsewhere');
    },

    'about the limits of keys get one warning each, with the first key': async (scope) => {
      let limit = 1;
      const sources = scope.inBoth(
        (at) => new KeyedSemaphore(at, { name: scope.name, limit: (limit += 1) }),
      );
      const heard = sources.map((source) => warningsOf(source, 'LIMIT_MISMATCH'));
      for (const key of ['a', 'b']) {
        const holders = await Promise.all(sources.map((source) => source.acquire(key)));
        await eventually(async () => {
          for (const source of sources) await source.tryUse(key, () => {});
          expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
        });
        for (const handle of holders) await handle.release();
      }
      await moment();
      const name = `"keyed:${scope.name}:a"`;
      expect(heard.flat()).to.have.lengthOf(2);
      expect(heard[0]?.[0]).to.include(`${name} is used with limit 2 here and 3 elsewhere`);
      expect(heard[1]?.[0]).to.include(`${name} is used with limit 3 here and 2 elsewhere`);
    },

    'get no warning with one limit, nor when one comes after the other': async (scope) => {
      const equal = scope.pair({ limit: 4 });
      const heard = equal.map((each) => warningsOf(each, 'LIMIT_MISMATCH'));
      for (const semaphore of [...equal, ...equal]) await semaphore.acquire();
      for (const semaphore of equal) await semaphore.close();
      const other = scope.elsewhere({ limit: 5 });
      heard.push(warningsOf(other, 'LIMIT_MISMATCH'));
      for (let round = 0; round < 3; round += 1) await other.use(() => {});
      await moment();
      expect(heard).to.deep.equal([[], [], []]);
    },

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
