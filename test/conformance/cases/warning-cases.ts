import { expect } from 'chai';

import type {
  CompositeHandle,
  Handle,
  KeyedMutexOptions,
  SemaphoreWarning,
} from '../../../src/index.js';
import {
  Election,
  KeyedMutex,
  KeyedSemaphore,
  Mutex,
  ReadWriteLock,
  useAll,
} from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { type CaseGroup, needing } from '../case-group.js';
import { type Scope, thrownBy } from '../scope.js';

const DAY = 86_400_000;

/** An object that emits the warnings of semaphores. */
interface EventSource {
  on(event: 'warning', listener: (warning: SemaphoreWarning) => void): unknown;
}

/** Warnings from now on: of one kind, or of all kinds but two that a row may have besides. */
function warningsOf(source: EventSource, code?: string): SemaphoreWarning[] {
  const heard: SemaphoreWarning[] = [];
  source.on('warning', (warning) => {
    const isBeside = warning.code === 'EVICTION' || warning.code === 'LIMIT_MISMATCH';
    if (code === undefined ? !isBeside : warning.code === code) heard.push(warning);
  });
  return heard;
}

/** The warnings of another process that takes and gives back a key. */
async function useKey(scope: Scope, options: KeyedMutexOptions): Promise<SemaphoreWarning[]> {
  const [, mutex] = scope.keyed(options);
  const heard = warningsOf(mutex, 'STRIPES_MISMATCH');
  await mutex.use('key', () => {});
  return heard;
}

async function expectOne(heard: readonly SemaphoreWarning[], ...parts: string[]): Promise<void> {
  await eventually(() => expect(heard).to.have.lengthOf(1));
  for (const part of parts) expect(heard[0]?.message).to.include(part);
}

/** Every class that has permits. */
function facesOf(scope: Scope) {
  const { name } = scope;
  return {
    keyed: scope.inBoth((at) => new KeyedSemaphore(at, { name, limit: 2 }))[0],
    keys: scope.inBoth((at) => new KeyedMutex(at, { name }))[0],
    lock: scope.inBoth((at) => new ReadWriteLock(at, `lock ${name}`))[0],
    mutex: scope.inBoth((at) => new Mutex(at, `mutex ${name}`))[0],
    election: scope.inBoth((at) => new Election(at, `election ${name}`))[0],
  };
}

export const warningCases: CaseGroup = {
  title: 'processes that disagree',
  cases: {
    'about the limit obey each their own, and get one warning each': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
      const equal = scope.pair({ limit: 4 }, scope.freshName());
      const quiet = equal.map((each) => warningsOf(each, 'LIMIT_MISMATCH'));
      await there.acquire({ permits: 3 });
      await here.acquire();
      await there.use(() => {});
      expect(await here.tryAcquire()).to.equal(null);
      expect([here.limit, there.limit]).to.deep.equal([4, 5]);
      // No listener was there so far.
      const heard = [here, there].map((semaphore) => warningsOf(semaphore, 'LIMIT_MISMATCH'));
      const use = async (): Promise<void> => {
        for (const semaphore of [here, there]) await semaphore.tryUse(() => {});
        expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
      };
      await eventually(use);
      for (let round = 0; round < 3; round += 1) await use();
      expect(heard[0]?.[0]?.message)
        .to.include('limit 4 here and 5 elsewhere')
        .and.include(scope.name);
      expect(heard[1]?.[0]?.message).to.include('limit 5 here and 4 elsewhere');
      // A process that follows another may have another limit.
      for (const semaphore of [...equal, ...equal]) await semaphore.acquire();
      for (const semaphore of equal) await semaphore.close();
      const follower = scope.elsewhere({ limit: 5 }, equal[0].name);
      quiet.push(warningsOf(follower, 'LIMIT_MISMATCH'));
      for (let round = 0; round < 3; round += 1) await follower.use(() => {});
      await moment();
      expect(quiet).to.deep.equal([[], [], []]);
    },

    'get one warning of a limit that another object stored, with both': needing(
      'operator calls',
      async (scope) => {
        const stored = scope.semaphore({ limit: 3 });
        const quiet = [warningsOf(stored)];
        await stored.setLimit(5);
        await stored.use(() => {});
        const [early, late] = scope.pair({ limit: 3 });
        const equal = scope.elsewhere({ limit: 5 });
        quiet.push(warningsOf(equal));
        await late.use(() => {});
        const heard = [early, late].map((semaphore) => warningsOf(semaphore));
        for (const semaphore of [early, late, equal, early, late, equal]) {
          await semaphore.use(() => {});
        }
        for (const warnings of heard) {
          const limit = `the limit of "${scope.name}" is 5`;
          const advice = ['not 3', 'setLimit(undefined)', `redsem limit "${scope.name}" none`];
          await expectOne(warnings, limit, ...advice);
          expect(warnings[0]).to.include({ code: 'STORED_LIMIT' });
        }
        await early.setLimit(undefined);
        const after = scope.elsewhere({ limit: 3 });
        quiet.push(warningsOf(after));
        await after.use(() => {});
        await moment();
        expect(quiet, 'also after the call that the message advises').to.deep.equal([[], [], []]);
        expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
      },
    ),

    'get the warning of a stored limit from every class': needing(
      'operator calls',
      async (scope) => {
        const { keyed, keys, lock, mutex, election } = facesOf(scope);
        const used: [EventSource, string, () => Promise<unknown>][] = [
          [keyed, `keyed:${scope.name}:a`, () => keyed.use('a', () => {})],
          [keys, `keyed:${scope.name}:b`, () => keys.use('b', () => {})],
          [lock, lock.name, () => lock.read(() => {})],
          [mutex, mutex.name, () => mutex.use(() => {})],
          [election, election.name, async () => (await election.campaign()).release()],
        ];
        for (const [source, under, use] of used) {
          await scope.elsewhere({}, under).setLimit(7);
          const heard = warningsOf(source, 'STORED_LIMIT');
          await use();
          await expectOne(heard, `the limit of "${under}" is 7`);
        }
      },
    ),

    'about stripes get one warning each': needing('operator calls', async (scope) => {
      for (const [options, here, elsewhere] of [
        [{ name: scope.freshName(), stripes: 16 }, '16 stripes', '16'],
        [{ name: scope.freshName() }, 'no stripes', 'none'],
      ] as const) {
        const first = await useKey(scope, options);
        const second = await useKey(scope, { ...options, stripes: 8 });
        await expectOne(second, `8 stripes here and ${elsewhere} elsewhere`, options.name);
        await expectOne(await useKey(scope, options), `${here} here and 8 elsewhere`);
        // A listener that comes late hears it, too.
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

/** The ways in which a function of `use` looks at its handle. */
const LOOKS: Readonly<Record<string, (handle: Handle | CompositeHandle) => unknown>> = {
  signal: ({ signal }) => signal,
  held: ({ held }) => held,
  expiresIn: ({ expiresIn }) => expiresIn,
  assertHeld: (handle) => thrownBy(() => handle.assertHeld()),
  'a lost listener': (handle) => handle.on('lost', () => {}),
  'its release': (handle) => handle.release(),
};

export const unnoticedCases: CaseGroup = {
  title: 'a loss while use runs',
  cases: {
    'is a warning of the object that has the permit, each time that the function never looked':
      async (scope) => {
        const { keyed, keys, lock, mutex } = facesOf(scope);
        const [one, two] = [scope.semaphore(), scope.semaphore({}, scope.freshName())];
        const lose = (handle: Handle): Promise<void> => scope.removeTicket(handle);
        const loseAll = async ({ handles }: CompositeHandle): Promise<void> => {
          for (const handle of handles) await lose(handle);
        };
        const uses: [EventSource, () => Promise<unknown>, number][] = [
          [one, () => one.use(lose), 1],
          [one, () => one.tryUse(lose), 1],
          [one, () => one.use(() => {}), 0],
          [one, () => one.use(() => Promise.reject(new Error())).catch(() => {}), 0],
          [keyed, () => keyed.use('a', lose), 1],
          [keyed, () => keyed.tryUse('a', lose), 1],
          [keys, () => keys.use(['b', 'c'], loseAll), 2],
          [keys, () => keys.tryUse('b', loseAll), 1],
          [lock, () => lock.read(lose), 1],
          [lock, () => lock.write(lose), 1],
          [mutex, () => mutex.use(lose), 1],
          [two, () => useAll([one, two], loseAll), 1],
        ];
        for (const [source, use, count] of uses) {
          const heard = warningsOf(source, 'LOST_UNNOTICED');
          await use();
          await moment();
          await eventually(() => expect(heard).to.have.lengthOf(count));
          if (source === one && count > 0) {
            expect(heard[0]?.message).to.include(`"${scope.name}" was lost (missing)`);
          }
        }
      },

    'is no warning where the function looked, before or after it': async (scope) => {
      const semaphore = scope.semaphore();
      const heard = warningsOf(semaphore);
      for (const [title, look] of Object.entries(LOOKS)) {
        await semaphore.use(async (handle) => {
          await look(handle);
          await scope.removeTicket(handle);
        });
        await semaphore.use(async (handle) => {
          await scope.removeTicket(handle);
          await look(handle);
        });
        await useAll([semaphore], async (handle) => {
          for (const each of handle.handles) await scope.removeTicket(each);
          await look(handle);
        });
        await moment();
        expect(heard, title).to.deep.equal([]);
      }
    },
  },
};
