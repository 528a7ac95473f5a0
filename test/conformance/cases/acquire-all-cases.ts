import { expect } from 'chai';

import type { CompositeHandle } from '../../../src/index.js';
import {
  acquireAll,
  AcquireTimeoutError,
  ClosedError,
  HandleLostError,
  MemoryBackend,
  Semaphore,
  useAll,
} from '../../../src/index.js';
import { asAnotherProcess } from '../another-process.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const retry = { min: 5, max: 20 };

/** Two semaphores whose names are in this order. */
function pair(scope: Scope, limit = 1): [Semaphore, Semaphore] {
  const name = scope.freshName();
  return [
    scope.semaphore({ limit, retry }, `${name}-a`),
    scope.semaphore({ limit, retry }, `${name}-b`),
  ];
}

async function expectState(semaphore: Semaphore, held: number, waiting = 0): Promise<void> {
  await eventually(async () => {
    expect(await semaphore.inspect(), semaphore.name).to.include({ held, waiting });
  });
}

const BAD_SEMAPHORES: readonly [semaphores: unknown, option: string, bad: BadValue][] = [
  [undefined, 'semaphores', [undefined, TypeError, 'undefined']],
  [5, 'semaphores', [5, TypeError, '5']],
  [[5], 'semaphores', [5, TypeError, '5']],
  [[{}], 'semaphores', [{}, TypeError, 'an object']],
  [[null], 'semaphores', [null, TypeError, 'null']],
];

export const acquireAllCases: CaseGroup = {
  title: 'acquireAll',
  cases: {
    'takes permits of all, and gives all of them back': async (scope) => {
      const [a, b] = pair(scope);
      const handle = await acquireAll([b, a]);
      expect(handle.handles.map(({ name }) => name)).to.deep.equal([b.name, a.name]);
      expect(handle).to.include({ held: true });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      handle.assertHeld();
      await handle.extend();
      const released: string[] = [];
      for (const part of handle.handles) part.on('released', () => released.push(part.name));
      handle.on('released', () => released.push('all'));
      expect(await handle.release()).to.equal(true);
      expect(released.slice(0, 2)).to.have.members([a.name, b.name]);
      expect(released.slice(2)).to.deep.equal(['all']);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      await expectState(a, 0);
      await expectState(b, 0);
    },

    'takes several permits of each': async (scope) => {
      const [a, b] = pair(scope, 3);
      const handle = await acquireAll([{ semaphore: a, permits: 2 }, { semaphore: b }]);
      expect(handle.handles.map(({ slots }) => slots)).to.deep.equal([[0, 1], [0]]);
      expect(await a.inspect()).to.include({ held: 2 });
    },

    'asks a semaphore that is given twice once, for the permits of both': async (scope) => {
      const [a, b] = pair(scope, 3);
      const handle = await acquireAll([a, b, { semaphore: a, permits: 2 }]);
      const [first, , third] = handle.handles;
      expect(first).to.equal(third);
      expect(first?.slots).to.deep.equal([0, 1, 2]);
      expect(await handle.release()).to.equal(true);
      const bad: BadValue = [4, RangeError, '4'];
      const tooMany = acquireAll([a, { semaphore: a, permits: 3 }]);
      expectRefusal(await reasonOf(tooMany), 'permits', bad);
      await expectState(a, 0);
    },

    'asks two objects for one semaphore as one, too, as soon as they get into each other’s way':
      async (scope) => {
        const name = scope.freshName();
        const [one, two] = [
          scope.semaphore({ limit: 2, retry }, name),
          scope.elsewhere({ limit: 2, retry }, name),
        ];
        const holder = await one.acquire();
        const waiting = acquireAll([one, two]);
        await expectState(one, 1, 1);
        expect((await one.inspect()).waiters[0]).to.include({ permits: 2 });
        await holder.release();
        const handle = await waiting;
        expect(new Set(handle.handles)).to.have.property('size', 1);
        expect(handle.handles[0]?.slots).to.deep.equal([0, 1]);
        expect(await handle.release()).to.equal(true);
        const third = scope.semaphore({ limit: 2, retry }, name);
        // Three permits of two can never come free: it must not wait for them.
        const impossible = acquireAll([one, two, third]);
        expect(await reasonOf(impossible)).to.be.instanceOf(RangeError);
        await expectState(one, 0);
      },

    'gives back what it took at once, when one does not come free or the wait is aborted': async (
      scope,
    ) => {
      const [a, b] = pair(scope);
      const holder = await b.acquire();
      const late = await errorOf(acquireAll([b, a], 60), AcquireTimeoutError);
      expect(late).to.include({ timeout: 60 });
      await expectState(a, 0);
      const once = await errorOf(acquireAll([b, a], 0), AcquireTimeoutError);
      expect(once).to.include({ timeout: 0, semaphore: b.name });
      await expectState(a, 0);
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = reasonOf(acquireAll([b, a], { signal }));
      await expectState(b, 1, 1);
      await expectState(a, 1);
      controller.abort('enough');
      expect(await waiting).to.equal('enough');
      await expectState(a, 0);
      await expectState(b, 1);
      await holder.release();
      expect(await reasonOf(acquireAll([a, b], { signal }))).to.equal('enough');
    },

    'never deadlocks, whatever order callers name the semaphores in': async (scope) => {
      const [a, b] = pair(scope);
      const other = asAnotherProcess(scope.target);
      const there = [a, b].map(({ name }) => new Semaphore(other, name, { limit: 1, retry }));
      let inside = 0;
      const work = async (): Promise<void> => {
        inside += 1;
        expect(inside).to.equal(1);
        await Promise.resolve();
        inside -= 1;
      };
      const loop = async (semaphores: readonly Semaphore[]): Promise<void> => {
        for (let round = 0; round < 20; round += 1) await useAll(semaphores, work);
      };
      await Promise.all([loop([a, b]), loop([b, a]), loop(there), loop(there.toReversed())]);
      await Promise.all(there.map((semaphore) => semaphore.close()));
    },

    'never deadlocks over semaphores of one name on two backends': async (scope) => {
      const name = scope.freshName();
      await using here = new Semaphore(new MemoryBackend(), name, { limit: 1, retry });
      const there = scope.semaphore({ retry }, name);
      let inside = 0;
      const work = (): void => {
        inside += 1;
        expect(inside).to.equal(1);
        inside -= 1;
      };
      const loop = async (semaphores: readonly Semaphore[]): Promise<void> => {
        for (let round = 0; round < 10; round += 1) await useAll(semaphores, work);
      };
      await Promise.all([loop([here, there]), loop([there, here]), loop([here, there])]);
      await expectState(here, 0);
    },

    'is lost once, when one part is, and keeps the others until release [P6]': async (scope) => {
      const [a, b] = pair(scope);
      const handle = await acquireAll([a, b]);
      const [ofA, ofB] = handle.handles;
      const lost: unknown[] = [];
      handle.on('lost', (error) => lost.push(error));
      for (const part of [ofB, ofA]) if (part !== undefined) await scope.removeTicket(part);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(lost).to.deep.equal([error]);
      expect(handle.held).to.equal(false);
      const late = new Promise((resolve) => handle.once('lost', resolve));
      expect(await late).to.equal(error);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(await handle.release()).to.equal(false);
      expect(lost).to.have.lengthOf(1);
    },

    'tells of a loss that came before the first look [P6]': async (scope) => {
      const [a, b] = pair(scope);
      const lose = async (): Promise<CompositeHandle> => {
        const handle = await acquireAll([a, b]);
        const [, part] = handle.handles;
        if (part !== undefined) await scope.removeTicket(part);
        await errorOf(handle.extend(), HandleLostError);
        return handle;
      };
      const first = await lose();
      const error = await new Promise((resolve) => first.on('lost', resolve));
      expect(error).to.be.instanceOf(HandleLostError);
      await first.release();
      const second = await lose();
      expect(second.signal.aborted).to.equal(true);
      await second.release();
    },

    'is lost when one of the semaphores is closed': async (scope) => {
      const [a, b] = pair(scope);
      const handle = await acquireAll([a, b]);
      const { signal } = handle;
      await b.close();
      expect(signal.reason).to.include({ reason: 'closed', semaphore: b.name });
      expect(handle.held).to.equal(false);
      await errorOf(acquireAll([a, b]), ClosedError);
      expect(await handle.release()).to.equal(false);
      await expectState(a, 0);
    },

    'releases at the end of the block, and never throws there': async (scope) => {
      const [a, b] = pair(scope);
      {
        await using handle = await acquireAll([a, b]);
        const [part] = handle.handles;
        if (part !== undefined) await scope.removeTicket(part);
      }
      await expectState(b, 0);
      const failure = new Error('the job failed');
      const failing = useAll([a, b], () => Promise.reject(failure));
      expect(await reasonOf(failing)).to.equal(failure);
      expect(await useAll([b, a], ({ held }) => held)).to.equal(true);
      await expectState(a, 0);
      await expectState(b, 0);
    },

    'holds nothing for an empty list': async () => {
      const handle = await acquireAll([], 0);
      expect(handle).to.include({ held: true, expiresIn: Infinity });
      await handle.extend();
      expect(await handle.release()).to.equal(true);
      expect(handle.held).to.equal(false);
    },

    'refuses bad arguments at once': async (scope) => {
      const [a] = pair(scope);
      for (const [semaphores, option, bad] of BAD_SEMAPHORES) {
        expectRefusal(await reasonOf(acquireAll(semaphores as [])), option, bad);
      }
      const permits: readonly BadValue[] = [
        [0, RangeError, '0'],
        [2, RangeError, '2'],
        ['1', TypeError, '"1"'],
      ];
      for (const bad of permits) {
        const share = { semaphore: a, permits: bad[0] as number };
        expectRefusal(await reasonOf(acquireAll([share])), 'permits', bad);
      }
      expectRefusal(await reasonOf(acquireAll([a], NaN)), 'timeout', [NaN, RangeError, 'NaN']);
      const clock = {} as never;
      const badClock = await reasonOf(acquireAll([a], { clock }));
      expectRefusal(badClock, 'clock', [{}, TypeError, 'an object']);
      const notRun = await reasonOf(useAll([a], 'fn' as unknown as () => void));
      expectRefusal(notRun, 'fn', ['fn', TypeError, '"fn"']);
      await expectState(a, 0);
    },
  },
};
