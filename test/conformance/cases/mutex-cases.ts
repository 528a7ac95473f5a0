import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { Mutex } from '../../../src/index.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal, thrownBy } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { reasonOf } from '../../support/rejection.js';

/** A resource that refuses a write with an older token than it saw in the same slot. */
class GuardedStore {
  readonly accepted: string[] = [];
  readonly #seen = new Map<number, number>();

  write({ slot, fencingToken }: Handle, value: string): boolean {
    if (fencingToken < (this.#seen.get(slot) ?? 0)) return false;
    this.#seen.set(slot, fencingToken);
    this.accepted.push(value);
    return true;
  }
}

const BAD_OPTIONS: readonly [option: string, options: unknown, bad: BadValue][] = [
  ['options', 5, [5, TypeError, '5']],
  ['options', null, [null, TypeError, 'null']],
  ['limit', { limit: 2 }, [2, RangeError, '2']],
  ['limit', { limit: '1' }, ['1', RangeError, '"1"']],
  ['ttl', { ttl: 5 }, [5, RangeError, '5']],
];

export const mutexCases: CaseGroup = {
  title: 'a mutex',
  cases: {
    'has one holder at once, without any options [RS, AM]': async (scope) => {
      await using mutex = new Mutex(scope.target, scope.name);
      expect(mutex.limit).to.equal(1);
      const handle = await mutex.acquire();
      expect(await mutex.tryAcquire()).to.equal(null);
      expect(await scope.elsewhere().tryAcquire()).to.equal(null);
      expect(await handle.release()).to.equal(true);
      expect(await mutex.use(({ slot }) => slot)).to.equal(0);
    },

    'takes the options of a semaphore': async (scope) => {
      const prefix = scope.freshName();
      await using mutex = new Mutex(scope.target, scope.name, { ttl: 5000, label: 'me', prefix });
      const handle = await mutex.acquire();
      expect(handle.expiresIn).to.be.within(1, 5000);
      const [holder] = (await scope.elsewhere({ prefix }).inspect()).holders;
      expect(holder).to.include({ id: handle.id, label: 'me' });
    },

    'refuses a limit, and bad options as a semaphore does': (scope) => {
      for (const [option, options, bad] of BAD_OPTIONS) {
        const make = (): Mutex => new Mutex(scope.target, scope.name, options as object);
        expectRefusal(thrownBy(make), option, bad);
      }
    },

    'keeps its limit': async (scope) => {
      await using mutex = new Mutex(scope.target, scope.name);
      for (const bad of [2, 0, '1', NaN]) {
        const shown = typeof bad === 'string' ? '"1"' : String(bad);
        const error = await reasonOf(mutex.setLimit(bad as number));
        expectRefusal(error, 'limit', [bad, RangeError, shown]);
      }
      await scope.semaphore().setLimit(3);
      await mutex.setLimit(1);
      await mutex.acquire();
      expect(await mutex.tryAcquire()).to.equal(null);
    },

    'lets a store refuse the late write of a stalled holder [P2, O 4]': async (scope) => {
      await using mutex = new Mutex(scope.target, scope.name);
      scope.semaphore();
      const store = new GuardedStore();
      const stalled = await mutex.acquire();
      expect(store.write(stalled, 'in time')).to.equal(true);
      await scope.ageTicket(stalled, 0);
      const successor = await mutex.acquire();
      expect(store.write(successor, 'successor')).to.equal(true);
      expect(store.write(stalled, 'late')).to.equal(false);
      expect(store.write(successor, 'successor again')).to.equal(true);
      expect(store.accepted).to.deep.equal(['in time', 'successor', 'successor again']);
    },

    'of a limit above one: only the slot tells the late write from that of a co-holder [P2]':
      async (scope) => {
        const semaphore = scope.semaphore({ limit: 3 });
        const store = new GuardedStore();
        const [low, stalled, middle] = [
          await semaphore.acquire(),
          await semaphore.acquire(),
          await semaphore.acquire(),
        ];
        await scope.ageTicket(stalled, 0);
        const successor = await semaphore.acquire();
        expect(store.write(successor, 'successor')).to.equal(true);
        for (const coHolder of [low, middle]) {
          expect(coHolder.fencingToken).to.be.below(successor.fencingToken);
          expect(store.write(coHolder, 'co-holder')).to.equal(true);
        }
        expect(store.write(stalled, 'late')).to.equal(false);
        // Without slots the highest token alone would have refused the co-holders, too.
        expect(successor.slot).to.equal(stalled.slot);
        expect(new Set([low.slot, middle.slot, successor.slot])).to.have.property('size', 3);
      },
  },
};
