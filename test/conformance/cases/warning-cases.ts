import { expect } from 'chai';

import type { CompositeHandle, Handle, SemaphoreWarning } from '../../../src/index.js';
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
import { caseGroup, type Scope, thrownBy } from '../scope.js';

/** An object that emits the warnings of semaphores. */
interface EventSource {
  on(event: 'warning', listener: (warning: SemaphoreWarning) => void): unknown;
}

/** The messages of one kind of warnings from now on. */
function heardOf(code: string, source: EventSource): string[] {
  const heard: string[] = [];
  source.on('warning', (warning) => void (warning.code === code && heard.push(warning.message)));
  return heard;
}

async function expectOne(heard: readonly string[] = [], ...parts: string[]): Promise<void> {
  await eventually(() => expect(heard).to.have.lengthOf(1));
  for (const part of parts) expect(heard[0]).to.include(part);
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

export const limitWarningCases = caseGroup('processes that disagree', [], (it) => {
  it('about the limit obey each their own limit, and get one warning each', async (scope) => {
    const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 5 })];
    await there.acquire({ permits: 3 });
    await here.acquire();
    await there.use(() => {});
    expect(await here.tryAcquire()).to.equal(null);
    expect([here.limit, there.limit]).to.deep.equal([4, 5]);
    // No listener was there so far.
    const heard = [here, there].map((semaphore) => heardOf('LIMIT_MISMATCH', semaphore));
    const use = async (): Promise<void> => {
      for (const semaphore of [here, there]) await semaphore.tryUse(() => {});
      expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
    };
    await eventually(use);
    for (let round = 0; round < 3; round += 1) await use();
    await expectOne(heard[0], 'limit 4 here and 5 elsewhere', scope.name);
    await expectOne(heard[1], 'limit 5 here and 4 elsewhere');
  });

  it('about the limit get no warning when one follows the other', async (scope) => {
    const equal = scope.pair({ limit: 4 });
    const follower = scope.elsewhere({ limit: 5 });
    const quiet = [...equal, follower].map((each) => heardOf('LIMIT_MISMATCH', each));
    for (const semaphore of [...equal, ...equal]) await semaphore.acquire();
    for (const semaphore of equal) await semaphore.close();
    for (let round = 0; round < 3; round += 1) await follower.use(() => {});
    await moment();
    expect(quiet).to.deep.equal([[], [], []]);
  });
});

export const storedWarningCases = caseGroup('processes that disagree', ['operator calls'], (it) => {
  it('get one warning of a limit that another object stored, with both', async (scope) => {
    const stored = scope.semaphore({ limit: 3 });
    const [early, late] = scope.pair({ limit: 3 });
    const equal = scope.elsewhere({ limit: 5 });
    const quiet = [stored, equal].map((each) => heardOf('STORED_LIMIT', each));
    await stored.setLimit(5);
    await late.use(() => {});
    const heard = [early, late].map((each) => heardOf('STORED_LIMIT', each));
    const all = [stored, early, late, equal];
    for (const semaphore of [...all, ...all]) await semaphore.use(() => {});
    for (const warnings of heard) {
      const limit = `the limit of "${scope.name}" is 5`;
      const advice = ['not 3', 'setLimit(undefined)', `redsem limit "${scope.name}" none`];
      await expectOne(warnings, limit, ...advice);
    }
    await early.setLimit(undefined);
    const after = scope.elsewhere({ limit: 3 });
    quiet.push(heardOf('STORED_LIMIT', after));
    await after.use(() => {});
    await moment();
    expect(quiet, 'also after the call that the message advises').to.deep.equal([[], [], []]);
    expect(heard.map(({ length }) => length)).to.deep.equal([1, 1]);
  });

  it('get the warning of a stored limit from every class', async (scope) => {
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
      const heard = heardOf('STORED_LIMIT', source);
      await use();
      await expectOne(heard, `the limit of "${under}" is 7`);
    }
  });

  it('about stripes get one warning each, also a listener that comes late', async (scope) => {
    for (const [stripes, here, elsewhere] of [
      [16, '16 stripes', '16'],
      [undefined, 'no stripes', 'none'],
    ] as const) {
      const name = scope.freshName();
      const [first, late] = scope.keyed({ name, stripes });
      const [other] = scope.keyed({ name, stripes: 8 });
      const heard = [first, other].map((mutex) => heardOf('STRIPES_MISMATCH', mutex));
      for (const mutex of [first, other, late]) await mutex.use('key', () => {});
      heard.push(heardOf('STRIPES_MISMATCH', late));
      await eventually(async () => {
        await late.use('key', () => {});
        expect(heard.map(({ length }) => length)).to.deep.equal([0, 1, 1]);
      });
      await expectOne(heard[1], `8 stripes here and ${elsewhere} elsewhere`, name);
      await expectOne(heard[2], `${here} here and 8 elsewhere`);
    }
  });
});

type Look = (handle: Handle | CompositeHandle) => unknown;

/** A function of `use` whose tickets are lost meanwhile, unknown to its handle. */
function losing(scope: Scope): Look {
  return async (handle) => {
    const handles = 'handles' in handle ? handle.handles : [handle];
    for (const each of handles) await scope.removeTicket(each);
  };
}

/** The ways in which a function of `use` looks at its handle. */
const LOOKS: Readonly<Record<string, Look>> = {
  signal: ({ signal }) => signal,
  held: ({ held }) => held,
  expiresIn: ({ expiresIn }) => expiresIn,
  assertHeld: (handle) => thrownBy(() => handle.assertHeld()),
  'a lost listener': (handle) => handle.on('lost', () => {}),
  'its release': (handle) => handle.release(),
};

export const unnoticedCases = caseGroup('a loss while use runs', [], (it) => {
  it('is a warning of the object that has the permit, each time that the function never looked', async (scope) => {
    const { keyed, keys, lock, mutex } = facesOf(scope);
    const [one, two] = [scope.semaphore(), scope.semaphore({}, scope.freshName())];
    const lose = losing(scope);
    const uses: [EventSource, () => Promise<unknown>, number][] = [
      [one, () => one.use(lose), 1],
      [one, () => one.tryUse(lose), 1],
      [one, () => one.use(() => {}), 0],
      [one, () => one.use(() => Promise.reject(new Error())).catch(() => {}), 0],
      [keyed, () => keyed.use('a', lose), 1],
      [keyed, () => keyed.tryUse('a', lose), 1],
      [keys, () => keys.use(['b', 'c'], lose), 2],
      [keys, () => keys.tryUse('b', lose), 1],
      [lock, () => lock.read(lose), 1],
      [lock, () => lock.write(lose), 1],
      [mutex, () => mutex.use(lose), 1],
      [two, () => useAll([one, two], lose), 1],
    ];
    for (const [source, use, count] of uses) {
      const heard = heardOf('LOST_UNNOTICED', source);
      await use();
      await moment();
      await eventually(() => expect(heard).to.have.lengthOf(count));
      if (source === one && count > 0) await expectOne(heard, `"${scope.name}" was lost (missing)`);
    }
  });

  it('is no warning where the function looked, before or after it', async (scope) => {
    const [semaphore, lose] = [scope.semaphore(), losing(scope)];
    const heard = heardOf('LOST_UNNOTICED', semaphore);
    for (const [title, look] of Object.entries(LOOKS)) {
      for (const steps of [
        [look, lose],
        [lose, look],
      ]) {
        const run: Look = async (handle) => {
          for (const step of steps) await step(handle);
        };
        await semaphore.use(run);
        await useAll([semaphore], run);
      }
      await moment();
      expect(heard, title).to.deep.equal([]);
    }
  });
});
