import { expect } from 'chai';

import { Mutex } from '../../../src/index.js';
import { type CaseGroup, needing } from '../case-group.js';
import { underKey, untilHeld, untilState } from '../scope.js';

/** What both have in common with `acquireAll` is there. */
export const keyedMutexCases: CaseGroup = {
  title: 'mutexes and keyed mutexes',
  cases: {
    'a mutex has one holder at once, and the options of a semaphore': async (scope) => {
      await using plain = new Mutex(scope.target, scope.name);
      expect(plain.limit).to.equal(1);
      const handle = await plain.acquire();
      for (const other of [plain, scope.elsewhere()]) {
        expect(await other.tryAcquire()).to.equal(null);
      }
      expect(await handle.release()).to.equal(true);
      expect(await plain.use(({ slot }) => slot)).to.equal(0);
      const prefix = scope.freshName();
      await using mutex = new Mutex(scope.target, scope.name, { ttl: 5000, label: 'me', prefix });
      const { id, expiresIn } = await mutex.acquire();
      expect(expiresIn).to.be.within(1, 5000);
      const [holder] = (await scope.elsewhere({ prefix }).inspect()).holders;
      expect(holder).to.include({ id, label: 'me' });
    },

    'a mutex keeps its limit': needing('operator calls', async (scope) => {
      await using mutex = new Mutex(scope.target, scope.name);
      await scope.semaphore().setLimit(3);
      await mutex.setLimit(1);
      await mutex.acquire();
      expect(await mutex.tryAcquire()).to.equal(null);
    }),

    'take each key once, and know its handle, whose tokens rise [P2]': async (scope) => {
      const [mutex, other] = scope.keyed();
      const handle = await mutex.acquire(['b', 'a', 'b', 'c']);
      expect(handle.keys).to.deep.equal(['b', 'a', 'c']);
      expect(handle.handles).to.have.lengthOf(3);
      expect(handle.name).to.equal(scope.name);
      for (const key of handle.keys) expect(await other.tryAcquire(key)).to.equal(null);
      expect((await other.acquire('d')).keys).to.deep.equal(['d']);
      let last = handle.handleOf('a').fencingToken;
      await handle.release();
      for (const keys of [['a', 'b'], ['b', 'a'], 'a']) {
        const token = await mutex.use(keys, (each) => each.handleOf('a').fencingToken);
        expect(token).to.be.greaterThan(last);
        last = token;
      }
      expect(() => handle.handleOf('z')).to.throw(RangeError, 'key: expected');
    },

    'take the keys in the order of their bytes': needing('queue', async (scope) => {
      const [mutex, other] = scope.keyed();
      // As UTF-16 the emoji comes first, as UTF-8 it comes last.
      const [first, last] = ['\uffee', '\u{1f600}'];
      const holder = await other.acquire(last);
      const waiting = mutex.acquire([last, first]);
      await untilState(underKey(scope, last), { held: 1, waiting: 1 });
      await untilHeld(scope, first, 1);
      await holder.release();
      expect((await waiting).held).to.equal(true);
    }),
  },
};
