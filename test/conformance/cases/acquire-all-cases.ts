import { expect } from 'chai';

import type { CompositeHandle, Handle, KeyedAcquireOptions } from '../../../src/index.js';
import {
  acquireAll,
  AcquireTimeoutError,
  ClosedError,
  HandleLostError,
  MemoryBackend,
  Semaphore,
} from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { type Scope, underKey, untilHeld, untilLost, untilState } from '../scope.js';

/** Takes the locks with these letters, in this order; 0: one try. */
type Take = (letters: string, options?: number | KeyedAcquireOptions) => Promise<CompositeHandle>;

/** The same locks by a keyed mutex and by `acquireAll`; each in this process and in another. */
const FACES: readonly ((scope: Scope) => readonly Take[])[] = [
  (scope) =>
    scope.keyed().map(
      (mutex): Take =>
        (keys, options) =>
          mutex.acquire(keys.split(''), options),
    ),
  (scope) =>
    [false, true].map((elsewhere): Take => (letters, options) => {
      const semaphores = letters.split('').map((key) => underKey(scope, key, elsewhere));
      return acquireAll(semaphores, options);
    }),
];

/** Runs a case by each face. */
function each(run: (scope: Scope, here: Take, there: Take) => Promise<void>) {
  return async (scope: Scope): Promise<void> => {
    for (const face of FACES) {
      const [here, there] = face(scope);
      if (here !== undefined && there !== undefined) await run(scope, here, there);
    }
  };
}

export const acquireAllCases: CaseGroup = {
  title: 'several locks as one, by a keyed mutex and by acquireAll',
  cases: {
    'takes all locks, and gives all of them back': each(async (scope, take) => {
      const handle = await take('cab');
      const names = ['c', 'a', 'b'].map((key) => `keyed:${scope.name}:${key}`);
      expect(handle.handles.map(({ name }) => name)).to.deep.equal(names);
      expect(handle).to.include({ held: true });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      handle.assertHeld();
      await untilHeld(scope, 'abc', 1);
      await handle.extend();
      const released: string[] = [];
      for (const part of handle.handles) part.on('released', () => released.push(part.name));
      handle.on('released', () => released.push('all'));
      expect(await handle.release()).to.equal(true);
      expect(released.slice(0, 3)).to.have.members(names);
      expect(released.slice(3)).to.deep.equal(['all']);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      await untilHeld(scope, 'abc', 0);
    }),

    'holds nothing for an empty list': async (scope) => {
      const [mutex] = scope.keyed();
      for (const take of [mutex.acquire([], 0), mutex.tryAcquire([]), acquireAll([], 0)]) {
        const handle = await take;
        expect(handle).to.include({ held: true, expiresIn: Infinity });
        expect(handle?.handles).to.deep.equal([]);
        handle?.assertHeld();
        expect(handle?.signal.aborted).to.equal(false);
        await handle?.extend();
        expect(await handle?.release()).to.equal(true);
        expect(handle).to.include({ held: false, expiresIn: 0 });
        expect(() => handle?.assertHeld()).to.throw(HandleLostError);
      }
    },

    'holds nothing when a lock is not free at once': each(async (scope, here, there) => {
      const holder = await there('b');
      for (const letters of ['cba', 'bc', 'ab']) {
        const error = await errorOf(here(letters, 0), AcquireTimeoutError);
        expect(error).to.include({ timeout: 0, semaphore: `keyed:${scope.name}:b` });
        await untilHeld(scope, 'ac', 0);
      }
      await holder.release();
      await (await here('abc', 0)).release();
    }),

    'gives its permits back at once after a timeout or an abort': needing(
      'queue',
      each(async (scope, here, there) => {
        const holder = await there('b');
        const late = await errorOf(here('bac', 60), AcquireTimeoutError);
        expect(late).to.include({ timeout: 60 });
        await untilHeld(scope, 'ac', 0);
        const controller = new AbortController();
        const { signal } = controller;
        const waiting = reasonOf(here('cab', { signal }));
        await untilState(underKey(scope, 'b'), { held: 1, waiting: 1 });
        // It holds no lock behind the lock that it waits for.
        await untilHeld(scope, 'a', 1);
        await untilHeld(scope, 'c', 0);
        controller.abort('enough');
        expect(await waiting).to.equal('enough');
        await untilHeld(scope, 'ac', 0);
        await untilHeld(scope, 'b', 1);
        for (const letters of ['d', '']) {
          expect(await reasonOf(here(letters, { signal }))).to.equal('enough');
        }
        await untilHeld(scope, 'd', 0);
        await holder.release();
      }),
    ),

    'refuses two semaphores of one name, which have no common order': async (scope) => {
      await using elsewhere = new Semaphore(new MemoryBackend(), scope.name, { limit: 1 });
      const here = scope.semaphore();
      for (const other of [elsewhere, scope.semaphore()]) {
        const error = await errorOf(acquireAll([here, other]), RangeError);
        expect(error.message).to.include(JSON.stringify(scope.name));
      }
      expect(await here.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'is lost once, with the first part, and keeps the others [P6]': each(async (scope, take) => {
      const handle = await take('ab');
      const [first, second] = handle.handles as [Handle, Handle];
      const losses: unknown[] = [];
      handle.on('lost', (error) => losses.push(error));
      await scope.removeTicket(second);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'missing', semaphore: `keyed:${scope.name}:b` });
      expect(error.message).to.match(/^the permit of "keyed:.*:b" \((of key "b"|handle 2 of 2)\)/);
      await scope.removeTicket(first);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      expect(await untilLost(handle)).to.equal(error);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(await handle.release()).to.equal(false);
      expect(losses).to.deep.equal([error]);
    }),

    'takes several permits of each semaphore, and asks for each once': async (scope) => {
      const [a, b] = [scope.semaphore({ limit: 3 }), scope.semaphore({}, scope.freshName())];
      const handle = await acquireAll([a, b, { semaphore: a, permits: 2 }]);
      const [first, , third] = handle.handles;
      expect(first).to.equal(third);
      expect(first?.slots).to.deep.equal([0, 1, 2]);
      expect(await handle.release()).to.equal(true);
      const tooMany = await errorOf(acquireAll([a, { semaphore: a, permits: 3 }]), RangeError);
      expect(tooMany.message).to.match(/^permits: .*got 4/);
      await untilState(a, { held: 0 });
      const again = await acquireAll([a, b]);
      const { signal } = again;
      await b.close();
      expect(signal.reason).to.include({ reason: 'closed', semaphore: b.name });
      expect(signal.reason)
        .to.have.property('message')
        .that.includes(`"${b.name}" (handle 2 of 2)`);
      expect(again.held).to.equal(false);
      await errorOf(acquireAll([a, b]), ClosedError);
      expect(await again.release()).to.equal(false);
      await untilState(a, { held: 0 });
    },
  },
};
