import { expect } from 'chai';

import type { KeyedMutex, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, ClosedError, HandleLostError, Mutex } from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { type Scope, untilLost, untilState } from '../scope.js';

/** The semaphore under a key, to look at it; nothing of it may be left after the case. */
function under(scope: Scope, key: string): Semaphore {
  return scope.elsewhere({}, `keyed:${scope.name}:${key}`);
}

async function untilHeld(scope: Scope, keys: string, held: number): Promise<void> {
  for (const key of keys) await untilState(under(scope, key), { held, waiting: 0 });
}

/** [O, RS, RU, V, AM] */
export const keyedMutexCases: CaseGroup = {
  title: 'mutexes and keyed mutexes',
  cases: {
    'a mutex has one holder at once, and the options of a semaphore': async (scope) => {
      await using plain = new Mutex(scope.target, scope.name);
      expect(plain.limit).to.equal(1);
      const handle = await plain.acquire();
      for (const other of [plain, scope.elsewhere()])
        expect(await other.tryAcquire()).to.equal(null);
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

    'take many keys, each once, and give all of them back': async (scope) => {
      const [mutex, other] = scope.keyed();
      const handle = await mutex.acquire(['b', 'a', 'b', 'c']);
      expect(handle.keys).to.deep.equal(['b', 'a', 'c']);
      expect(handle.handles).to.have.lengthOf(3);
      expect(handle).to.include({ held: true, name: scope.name });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      await untilHeld(scope, 'abc', 1);
      for (const key of handle.keys) expect(await other.tryAcquire(key)).to.equal(null);
      const single = await other.acquire('d');
      expect(single.keys).to.deep.equal(['d']);
      await handle.extend();
      expect(await handle.release()).to.equal(true);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      await untilHeld(scope, 'abc', 0);
      expect(await other.tryAcquire(['a', 'b'])).to.include({ held: true });
    },

    'of different names and stripes are kept apart': async (scope) => {
      const [mutex] = scope.keyed();
      const [striped] = scope.keyed({ stripes: 1 });
      const [other] = scope.keyed({ name: scope.freshName() });
      for (const each of [mutex, striped, other]) {
        expect(await each.tryAcquire(['1', '1:0'])).to.include({ held: true });
      }
    },

    'hold nothing for an empty list': async (scope) => {
      const [mutex] = scope.keyed();
      for (const handle of [await mutex.acquire([], 0), await mutex.tryAcquire([])]) {
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

    'try all or nothing: after null nothing is held': async (scope) => {
      const [mutex, other] = scope.keyed();
      const holder = await other.acquire('b');
      for (const keys of ['c b a', 'b c', 'a b'].map((all) => all.split(' '))) {
        expect(await mutex.tryAcquire(keys)).to.equal(null);
        await untilHeld(scope, 'ac', 0);
        const late = await errorOf(mutex.acquire(keys, 0), AcquireTimeoutError);
        expect(late).to.include({ timeout: 0, semaphore: `keyed:${scope.name}:b` });
        await untilHeld(scope, 'ac', 0);
      }
      await holder.release();
      expect(await mutex.tryAcquire(['a', 'b', 'c'])).to.include({ held: true });
    },

    'give earlier keys back when a later one is not free': needing('queue', async (scope) => {
      const [mutex, other] = scope.keyed();
      await other.acquire('b');
      const error = await errorOf(mutex.acquire(['b', 'a', 'c'], 60), AcquireTimeoutError);
      expect(error).to.include({ timeout: 60 });
      await untilHeld(scope, 'ac', 0);
      await untilHeld(scope, 'b', 1);
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = reasonOf(mutex.acquire(['a', 'b', 'c'], { signal }));
      await untilState(under(scope, 'b'), { held: 1, waiting: 1 });
      await untilHeld(scope, 'a', 1);
      controller.abort('enough');
      expect(await waiting).to.equal('enough');
      await untilHeld(scope, 'ac', 0);
      await untilHeld(scope, 'b', 1);
      for (const keys of ['d', []]) {
        expect(await reasonOf(mutex.acquire(keys, { signal }))).to.equal('enough');
      }
      await untilHeld(scope, 'd', 0);
    }),

    'hold nothing behind the key they wait for, by bytes': needing('queue', async (scope) => {
      const [mutex, other] = scope.keyed();
      // As UTF-16 the emoji comes first, as UTF-8 it comes last.
      const last = '\u{1f600}';
      const [holder, end] = [await other.acquire('b'), await other.acquire(last)];
      const waiting = mutex.acquire([last, '\uffee', 'c', 'b', 'a']);
      await untilState(under(scope, 'b'), { held: 1, waiting: 1 });
      await untilHeld(scope, 'a', 1);
      const behind = await other.acquire(['c', '\uffee']);
      await holder.release();
      await untilState(under(scope, 'c'), { held: 1, waiting: 1 });
      await untilHeld(scope, 'b', 1);
      await behind.release();
      await untilState(under(scope, last), { held: 1, waiting: 1 });
      await untilHeld(scope, 'c\uffee', 1);
      await end.release();
      expect((await waiting).held).to.equal(true);
    }),

    'never deadlock, whatever order callers name the keys in': async (scope) => {
      const inside = new Set<string>();
      const work = async (keys: readonly string[]): Promise<void> => {
        for (const key of keys) {
          expect(inside.has(key)).to.equal(false);
          inside.add(key);
        }
        await Promise.resolve();
        for (const key of keys) inside.delete(key);
      };
      const loop = async (mutex: KeyedMutex, keys: readonly string[]): Promise<void> => {
        for (let round = 0; round < 10; round += 1) await mutex.use(keys, () => work(keys));
      };
      const mutexes = scope.keyed();
      const orders = ['abc', 'cba', 'bc', 'ca'].map((keys) => keys.split(''));
      await Promise.all(orders.flatMap((keys) => mutexes.map((mutex) => loop(mutex, keys))));
      await untilHeld(scope, 'abc', 0);
    },

    'have fencing tokens for each key that rise with its holders [P2]': async (scope) => {
      const [mutex] = scope.keyed();
      let last = 0;
      for (const keys of [['a', 'b'], ['b', 'a'], 'a']) {
        await mutex.use(keys, (handle) => {
          const { fencingToken } = handle.handleOf('a');
          expect(fencingToken).to.be.greaterThan(last);
          last = fencingToken;
          expect(() => handle.handleOf('z')).to.throw(RangeError, 'key: expected');
        });
      }
    },

    'are lost with the first of the keys, keep the others [P6]': async (scope) => {
      const [mutex] = scope.keyed();
      const handle = await mutex.acquire(['a', 'b']);
      const losses: unknown[] = [];
      handle.on('lost', (error) => losses.push(error));
      await scope.removeTicket(handle.handleOf('b'));
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'missing', semaphore: `keyed:${scope.name}:b` });
      expect(losses).to.deep.equal([error]);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      await untilHeld(scope, 'a', 1);
      expect(await handle.release()).to.equal(false);
      await untilHeld(scope, 'ab', 0);
    },

    'run a function with the keys held, and release whatever happens': async (scope) => {
      const [mutex, other] = scope.keyed();
      const failure = new Error('the job failed');
      const failing = mutex.use(['a', 'b'], () => Promise.reject(failure));
      expect(await reasonOf(failing)).to.equal(failure);
      const lossy = mutex.use(['a', 'b'], async (handle) => {
        await scope.removeTicket(handle.handleOf('a'));
        throw failure;
      });
      expect(await reasonOf(lossy)).to.equal(failure);
      expect(await mutex.use('a', ({ held }) => held)).to.equal(true);
      const inner = (): Promise<unknown> => other.tryUse(['b', 'c'], () => 5);
      const outcome = await mutex.tryUse(['a', 'b'], inner);
      expect(outcome).to.deep.equal({ ran: true, result: { ran: false } });
      expect(await inner()).to.deep.equal({ ran: true, result: 5 });
      await untilHeld(scope, 'abc', 0);
    },

    'hash the keys onto stripes': async (scope) => {
      const stripes = 3;
      const [mutex, other] = scope.keyed({ stripes });
      const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`);
      const handle = await mutex.acquire(keys);
      expect(handle.keys).to.deep.equal(keys);
      expect(new Set(handle.handles)).to.have.property('size', stripes);
      expect(await other.tryAcquire('any other key')).to.equal(null);
      for (let stripe = 0; stripe < stripes; stripe += 1) {
        const lock = scope.elsewhere({}, `striped:${scope.name}:${stripes}:${stripe}`);
        expect(await lock.inspect()).to.include({ held: 1 });
      }
      expect(await handle.release()).to.equal(true);
      expect(await other.tryAcquire(keys)).to.include({ held: true });
    },

    'release handles and reject waiters when closed': needing('queue', async (scope) => {
      const [mutex, other] = scope.keyed();
      const handle = await mutex.acquire(['a', 'b']);
      await other.acquire('d');
      const waiting = errorOf(mutex.acquire(['c', 'd']), ClosedError);
      await untilState(under(scope, 'd'), { held: 1, waiting: 1 });
      const lost = untilLost(handle);
      await mutex.close();
      expect(await lost).to.include({ reason: 'closed' });
      expect((await waiting).message).to.include(JSON.stringify(scope.name));
      await untilHeld(scope, 'abc', 0);
      const calls = [mutex.acquire('a'), mutex.tryAcquire([]), mutex.use('a', () => 5)];
      await Promise.all(calls.map((call: Promise<unknown>) => errorOf(call, ClosedError)));
    }),
  },
};
