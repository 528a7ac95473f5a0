import { expect } from 'chai';

import type { KeyedMutexOptions, Semaphore } from '../../../src/index.js';
import {
  AcquireTimeoutError,
  ClosedError,
  HandleLostError,
  KeyedMutex,
} from '../../../src/index.js';
import { asAnotherProcess } from '../another-process.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal, thrownBy } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const retry = { min: 5, max: 20 };

function here(scope: Scope, options: KeyedMutexOptions = {}): KeyedMutex {
  return new KeyedMutex(scope.target, { name: scope.name, retry, ...options });
}

function elsewhere(scope: Scope, options: KeyedMutexOptions = {}): KeyedMutex {
  const target = asAnotherProcess(scope.target);
  return new KeyedMutex(target, { name: scope.name, retry, ...options });
}

/** The semaphore under a key, to look at it; nothing of it may be left after the case. */
function under(scope: Scope, key: string): Semaphore {
  return scope.elsewhere({}, `keyed:${scope.name}:${key}`);
}

async function expectState(semaphore: Semaphore, held: number, waiting = 0): Promise<void> {
  await eventually(async () => {
    expect(await semaphore.inspect(), semaphore.name).to.include({ held, waiting });
  });
}

const BAD_OPTIONS: readonly [option: string, options: unknown, bad: BadValue][] = [
  ['options', 'a', ['a', TypeError, '"a"']],
  ['limit', { limit: 3 }, [3, RangeError, '3']],
  ['name', { name: 5 }, [5, TypeError, '5']],
  ['name', { name: '' }, ['', RangeError, '0']],
  ['name', { name: 'a:b' }, ['a:b', TypeError, '"a:b"']],
  ['name', { name: 'a\ud800' }, ['a\ud800', TypeError, '"a\\ud800"']],
  ['name', { name: 'x'.repeat(129) }, ['x', RangeError, '129']],
  ['stripes', { stripes: 0 }, [0, RangeError, '0']],
  ['stripes', { stripes: 1.5 }, [1.5, RangeError, '1.5']],
  ['stripes', { stripes: '8' }, ['8', TypeError, '"8"']],
  ['ttl', { ttl: 5 }, [5, RangeError, '5']],
];

const BAD_KEYS: readonly [keys: unknown, bad: BadValue][] = [
  [undefined, [undefined, TypeError, 'undefined']],
  [5, [5, TypeError, '5']],
  [new Set(['a']), [{}, TypeError, 'an object']],
  [
    ['a', 5],
    [5, TypeError, '5'],
  ],
  [
    ['a', ['b']],
    [[], TypeError, 'an array'],
  ],
  ['', ['', RangeError, '0']],
  ['a\ud800', ['a\ud800', TypeError, '"a\\ud800"']],
  ['x'.repeat(600), ['x', RangeError, '600']],
];

export const keyedMutexCases: CaseGroup = {
  title: 'a keyed mutex',
  cases: {
    'takes many keys, each once, and gives all of them back [RU, V]': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const handle = await mutex.acquire(['b', 'a', 'b', 'c']);
      expect(handle.keys).to.deep.equal(['b', 'a', 'c']);
      expect(handle.handles).to.have.lengthOf(3);
      expect(handle).to.include({ held: true, name: scope.name });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      for (const key of handle.keys) {
        await expectState(under(scope, key), 1);
        expect(await other.tryAcquire(key)).to.equal(null);
      }
      await handle.extend();
      expect(await handle.release()).to.equal(true);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      for (const key of handle.keys) await expectState(under(scope, key), 0);
    },

    'keeps keys independent of each other, and takes a single one as a string': async (scope) => {
      await using mutex = here(scope);
      const first = await mutex.acquire('a');
      const second = await mutex.acquire('b');
      expect(first.keys).to.deep.equal(['a']);
      expect([first.held, second.held]).to.deep.equal([true, true]);
      expect(await mutex.tryAcquire('a')).to.equal(null);
    },

    'keeps keyed mutexes of different names apart': async (scope) => {
      await using mutex = here(scope);
      await using striped = here(scope, { stripes: 1 });
      await using other = here(scope, { name: scope.freshName() });
      for (const each of [mutex, striped, other]) {
        expect(await each.tryAcquire(['1', '1:0'])).to.include({ held: true });
      }
    },

    'holds nothing for an empty list': async (scope) => {
      await using mutex = here(scope);
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

    'tries all or nothing: after null nothing is held': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const [a, c] = [under(scope, 'a'), under(scope, 'c')];
      const holder = await other.acquire('b');
      for (const keys of [
        ['c', 'b', 'a'],
        ['b', 'c'],
        ['a', 'b'],
      ]) {
        expect(await mutex.tryAcquire(keys)).to.equal(null);
        expect(await a.inspect()).to.include({ held: 0 });
        expect(await c.inspect()).to.include({ held: 0 });
        const late = await errorOf(mutex.acquire(keys, 0), AcquireTimeoutError);
        expect(late).to.include({ timeout: 0, semaphore: `keyed:${scope.name}:b` });
        await expectState(a, 0);
        await expectState(c, 0);
      }
      await holder.release();
      expect(await mutex.tryAcquire(['a', 'b', 'c'])).to.include({ held: true });
    },

    'gives the earlier keys back at once when a later one does not come free': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      await other.acquire('b');
      const error = await errorOf(mutex.acquire(['b', 'a', 'c'], 60), AcquireTimeoutError);
      expect(error).to.include({ timeout: 60 });
      for (const key of ['a', 'c']) await expectState(under(scope, key), 0);
      await expectState(under(scope, 'b'), 1);
    },

    'gives the earlier keys back at once when the wait is aborted': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      await other.acquire('b');
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = reasonOf(mutex.acquire(['a', 'b', 'c'], { signal }));
      await expectState(under(scope, 'b'), 1, 1);
      await expectState(under(scope, 'a'), 1);
      controller.abort('enough');
      expect(await waiting).to.equal('enough');
      for (const key of ['a', 'c']) await expectState(under(scope, key), 0);
      await expectState(under(scope, 'b'), 1);
      expect(await reasonOf(mutex.acquire('d', { signal }))).to.equal('enough');
      expect(await reasonOf(mutex.acquire([], { signal }))).to.equal('enough');
      await expectState(under(scope, 'd'), 0);
    },

    'holds nothing behind the key that it waits for': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const holder = await other.acquire('b');
      const waiting = mutex.acquire(['d', 'c', 'b', 'a']);
      await expectState(under(scope, 'b'), 1, 1);
      await expectState(under(scope, 'a'), 1);
      const behind = await other.acquire(['c', 'd']);
      await holder.release();
      await expectState(under(scope, 'c'), 1, 1);
      await expectState(under(scope, 'b'), 1);
      await behind.release();
      expect((await waiting).held).to.equal(true);
    },

    'orders keys by their bytes, whatever JavaScript thinks': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      // As UTF-16 the emoji comes first, as UTF-8 it comes last.
      const [first, last] = ['\uffee', '\u{1f600}'];
      const holder = await other.acquire(last);
      const waiting = mutex.acquire([last, first]);
      await expectState(under(scope, last), 1, 1);
      await expectState(under(scope, first), 1);
      await holder.release();
      expect((await waiting).held).to.equal(true);
    },

    'never deadlocks, whatever order callers name the keys in [O, AM]': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const orders = [
        ['a', 'b', 'c'],
        ['c', 'b', 'a'],
        ['b', 'c'],
        ['c', 'a'],
      ];
      const inside = new Map<string, number>();
      const work = async (keys: readonly string[]): Promise<void> => {
        for (const key of keys) {
          expect(inside.get(key) ?? 0).to.equal(0);
          inside.set(key, 1);
        }
        await Promise.resolve();
        for (const key of keys) inside.set(key, 0);
      };
      const loop = async (each: KeyedMutex, keys: readonly string[]): Promise<void> => {
        for (let round = 0; round < 10; round += 1) await each.use(keys, () => work(keys));
      };
      await Promise.all(orders.flatMap((keys) => [loop(mutex, keys), loop(other, keys)]));
      for (const key of ['a', 'b', 'c']) await expectState(under(scope, key), 0);
    },

    'has fencing tokens for each key that rise with its holders [P2]': async (scope) => {
      await using mutex = here(scope);
      const tokens: number[] = [];
      for (const keys of [['a', 'b'], ['b', 'a'], 'a']) {
        await mutex.use(keys, (handle) => {
          tokens.push(handle.handleOf('a').fencingToken);
          expect(() => handle.handleOf('z')).to.throw(RangeError, 'key: expected');
        });
      }
      expect(tokens).to.deep.equal(tokens.toSorted((one, other) => one - other));
      expect(new Set(tokens)).to.have.property('size', 3);
    },

    'is lost with the first of its keys, and keeps the others until release [P6]': async (
      scope,
    ) => {
      await using mutex = here(scope);
      const handle = await mutex.acquire(['a', 'b']);
      const lost: unknown[] = [];
      handle.on('lost', (error) => lost.push(error));
      scope.elsewhere({}, handle.handleOf('b').name);
      await scope.removeTicket(handle.handleOf('b'));
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'missing', semaphore: `keyed:${scope.name}:b` });
      expect(lost).to.deep.equal([error]);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      await expectState(under(scope, 'a'), 1);
      expect(await handle.release()).to.equal(false);
      await expectState(under(scope, 'a'), 0);
    },

    'runs a function with the keys held, and releases whatever happens': async (scope) => {
      await using mutex = here(scope);
      const failure = new Error('the job failed');
      const failing = mutex.use(['a', 'b'], () => Promise.reject(failure));
      expect(await reasonOf(failing)).to.equal(failure);
      const lossy = mutex.use(['a', 'b'], async (handle) => {
        await scope.removeTicket(handle.handleOf('a'));
        throw failure;
      });
      expect(await reasonOf(lossy)).to.equal(failure);
      expect(await mutex.use('a', ({ held }) => held)).to.equal(true);
      for (const key of ['a', 'b']) await expectState(under(scope, key), 0);
    },

    'runs a function only if all keys are free': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const seen = await mutex.tryUse(['a', 'b'], async () =>
        other.tryUse(['b', 'c'], () => 'never'),
      );
      expect(seen).to.deep.equal({ ran: true, result: { ran: false } });
      expect(await other.tryUse(['b', 'c'], () => 5)).to.deep.equal({ ran: true, result: 5 });
    },

    'hashes its keys onto stripes': async (scope) => {
      const stripes = 3;
      await using mutex = here(scope, { stripes });
      await using other = elsewhere(scope, { stripes });
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

    'releases its handles and rejects its waiters when it is closed': async (scope) => {
      await using mutex = here(scope);
      await using other = elsewhere(scope);
      const handle = await mutex.acquire(['a', 'b']);
      await other.acquire('d');
      const waiting = errorOf(mutex.acquire(['c', 'd']), ClosedError);
      await expectState(under(scope, 'd'), 1, 1);
      const lost = new Promise((resolve) => handle.once('lost', resolve));
      await mutex.close();
      expect(await lost).to.include({ reason: 'closed' });
      expect((await waiting).message).to.include(JSON.stringify(scope.name));
      for (const key of ['a', 'b', 'c']) await expectState(under(scope, key), 0);
      await errorOf(mutex.acquire('a'), ClosedError);
      await errorOf(mutex.tryAcquire([]), ClosedError);
      await errorOf(
        mutex.use('a', () => 5),
        ClosedError,
      );
    },

    'refuses bad options and bad keys at once': async (scope) => {
      for (const [option, options, bad] of BAD_OPTIONS) {
        const make = (): KeyedMutex => new KeyedMutex(scope.target, options as object);
        expectRefusal(thrownBy(make), option, bad);
      }
      await using mutex = here(scope);
      for (const [keys, bad] of BAD_KEYS) {
        const given = keys as string;
        expectRefusal(await reasonOf(mutex.acquire(given)), 'keys', bad);
        expectRefusal(await reasonOf(mutex.tryAcquire(given)), 'keys', bad);
      }
      expectRefusal(await reasonOf(mutex.acquire('a', -1)), 'timeout', [-1, RangeError, '-1']);
      const signal = {} as AbortSignal;
      const refused = await reasonOf(mutex.acquire('a', { signal }));
      expectRefusal(refused, 'signal', [{}, TypeError, 'an object']);
      const notRun = await reasonOf(mutex.use('a', 5 as unknown as () => void));
      expectRefusal(notRun, 'fn', [5, TypeError, '5']);
      expect(await mutex.tryAcquire('x'.repeat(512 - `keyed:${scope.name}:`.length))).to.include({
        held: true,
      });
    },
  },
};
