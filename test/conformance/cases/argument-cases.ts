import { expect } from 'chai';

import {
  acquireAll,
  ClosedError,
  KeyedMutex,
  MemoryBackend,
  Mutex,
  Semaphore,
  useAll,
} from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { thrownBy } from '../scope.js';

type Call = (value: never) => unknown;
/** The values that a call refuses with a TypeError, and the values that are out of its range. */
type Refusal = readonly [option: string, types: unknown[], ranges: unknown[], ...calls: Call[]];
/** The parts of an option beside the wrong part. */
const BESIDE: Readonly<Record<string, object>> = { rate: { permits: 1, per: 1000 } };

const BAD_OPTIONS: readonly Refusal[] = [
  ['limit', [undefined, null, '5', 5n, [5]], [0, -1, 1.5, NaN, Infinity, 2 ** 53]],
  ['ttl', ['1000', null], [99, 99.9, 0, -1, NaN, Infinity, 2 ** 31, Number.MAX_SAFE_INTEGER]],
  ['extendEvery', ['100', null], [-1, NaN, Infinity, 15_001]],
  ['retry', [5, '10', null], []],
  ['retry.min', ['10'], [0, -1, NaN]],
  ['retry.max', ['10'], [9, Infinity]],
  ['retry.factor', ['2'], [0.5, NaN]],
  ['retry.jitter', [1], []],
  ['prefix', [5, 'a{b', 'a}b', 'a\ud800'], ['', 'x'.repeat(129)]],
  ['label', [5, null, 'a\udc00'], ['x'.repeat(257)]],
  ['maxWaiting', ['5', null], [-1, 1.5, NaN]],
  ['clock', [5, {}, null], []],
  ['replicas', [3, null], []],
  ['replicas.atLeast', ['1', undefined], [0, 1.5]],
  ['rate', [3, null, '100/m', [100, 60_000]], []],
  ['rate.permits', ['1', undefined], [0, -1, 1.5, NaN, Infinity, 2 ** 53]],
  ['rate.per', ['1'], [0, 1.5, NaN, Infinity, 31_536_000_001]],
  ['rate.burst', ['1'], [0, 1.5, NaN, Infinity]],
];

const BAD_TARGETS = [undefined, null, {}, { eval: 1, evalsha: 2 }, { runBySha: () => {} }];
const LONG_NAMES = ['x'.repeat(513), 'x'.repeat(1000), '\u{1F600}'.repeat(129)];

/** By each call that knows the option. */
const BAD_CALLS: readonly Refusal[] = [
  ['timeout', ['5'], [-1, -2000, NaN, -Infinity, 2 ** 53]],
  ['signal', [null, 'abort', { aborted: false }, new AbortController()], []],
  ['permits', ['1', null], [0, -1, 1.5, NaN, 4, 2 ** 24 + 1]],
  ['priority', ['1', null], [-1, 10, 1.5, NaN]],
  ['group', [5, 'a\ud800'], ['', 'x'.repeat(129)]],
  // Without a group, no weight is right.
  ['weight', ['1', 2], [0, 1001, 1.5]],
];

const TICKET = { id: 'abc.1', slots: [0], fencingToken: 5 };
const BAD_PARTS: readonly Refusal[] = [
  ['ticket.name', ['other', undefined], []],
  ['ticket.id', [undefined, 'abc', 'abc.1|2', 'abc.1 2', 'abc.1~x.1~y.1'], []],
  ['ticket.slots', [[], ['0'], 1], []],
  ['ticket.fencingToken', [1.5, undefined], []],
];

/** The message has the length in bytes where that is wrong. */
function shownOf(value: unknown): string {
  if (typeof value === 'string') {
    const length = Buffer.byteLength(value);
    return length > 100 || length === 0 ? String(length) : JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : 'object';
}

/** Each message names option, expectation and value. */
async function expectRefused(
  how: (act: () => unknown) => unknown,
  refusals: readonly Refusal[],
): Promise<void> {
  for (const [option, types, ranges, ...calls] of refusals) {
    for (const value of [...types, ...ranges]) {
      for (const call of calls) {
        const error = await how(() => call(value as never));
        expect(error, option).to.be.instanceOf(types.includes(value) ? TypeError : RangeError);
        expect(error, option).to.have.property('code', 'INVALID_ARGUMENT');
        const { message } = error as Error;
        const [, named, , shown] = /^([\w.]+): expected (.+), got (.+)$/s.exec(message) ?? [];
        expect(named, `option in ${message}`).to.equal(option);
        expect(shown, `value in ${message}`).to.include(shownOf(value));
      }
    }
  }
}

const expectThrown = (...refusals: Refusal[]) => expectRefused(thrownBy, refusals);

/** Never by a throw. */
const expectRejected = (...refusals: Refusal[]) =>
  expectRefused((act) => reasonOf(act() as Promise<unknown>), refusals);

/** The options, with a wrong value of the option. */
function changed([option]: Refusal, value: unknown): object {
  const [outer = '', inner] = option.split('.');
  return { [outer]: inner === undefined ? value : { ...BESIDE[outer], [inner]: value } };
}

const nothing = (): void => {};

/** The first line of the failure table. */
export const argumentCases: CaseGroup = {
  title: 'bad arguments',
  cases: {
    'of constructors': async ({ target, name }) => {
      const make = (at: never, as: never, options: never): Semaphore =>
        new Semaphore(at, as, options);
      const mutex = (options: unknown): Mutex => new Mutex(target, name, options as object);
      const keyed = (options: unknown): KeyedMutex => new KeyedMutex(target, options as object);
      const one = { limit: 1 };
      await expectThrown(
        ...BAD_OPTIONS.map((bad): Refusal => {
          const call: Call = (value) =>
            new Semaphore(target, name, { ...one, ...changed(bad, value) });
          return [bad[0], bad[1], bad[2], call];
        }),
        [
          'target',
          [...BAD_TARGETS, new Map(), 'redis://127.0.0.1'],
          [],
          (value) => make(value, name as never, one as never),
        ],
        [
          'name',
          [undefined, null, 5, 'a\ud800', '\udc00a'],
          ['', ...LONG_NAMES],
          (value) => make(target as never, value, one as never),
        ],
        [
          'options',
          [undefined, null, 5],
          [],
          (value) => make(target as never, name as never, value),
        ],
        ['options', [5, null], [], mutex],
        ['limit', [], [1, 2, '1'], (limit) => mutex({ limit })],
        ['ttl', [], [5], (ttl) => mutex({ ttl }), (ttl) => keyed({ ttl })],
        ['options', ['a'], [], keyed],
        ['limit', [], [1, 3], (limit) => keyed({ limit })],
        ['name', [5, 'a:b', 'a\ud800'], ['', 'x'.repeat(129)], (as) => keyed({ name: as })],
        ['stripes', ['8'], [0, 1.5], (stripes) => keyed({ stripes })],
      );
      const alone = { limit: 1, replicas: { atLeast: 1 } };
      const unconfirmed = thrownBy(() => new Semaphore(new MemoryBackend(), name, alone));
      expect(unconfirmed).to.match(/^TypeError: replicas: expected none, or a client of one Redis/);
    },

    'of calls, which take nothing': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const acquire: Call = (value) => semaphore.acquire(value);
      const more: Readonly<Record<string, Call[]>> = {
        timeout: [acquire],
        permits: [
          (permits) => semaphore.tryAcquire({ permits }),
          (permits) => semaphore.tryUse(nothing, { permits }),
        ],
      };
      const all = (value: unknown): Promise<unknown> => acquireAll(value as []);
      const [mutex] = scope.keyed();
      const lock = (keys: unknown): Promise<unknown> => mutex.acquire(keys as string);
      await expectRejected(
        ...BAD_CALLS.map(([option, types, ranges]): Refusal => {
          const calls: Call[] = [
            (value) => semaphore.acquire({ [option]: value }),
            (value) => semaphore.use(nothing, { [option]: value }),
          ];
          return [option, types, ranges, ...calls, ...(more[option] ?? [])];
        }),
        ['drain', ['5'], [-1, NaN, Infinity, 2 ** 31], (drain) => semaphore.close({ drain })],
        ['timeout', [null], [], acquire],
        ['options', [null], [], (value) => semaphore.tryAcquire(value)],
        ['fn', [5, 'job'], [], (fn) => semaphore.use(fn), (fn) => semaphore.tryUse(fn)],
        ['semaphores', [undefined, 5], [], all],
        ['semaphores', [5, {}, null], [], (each) => all([each])],
        ['permits', ['1'], [0, 4], (permits) => acquireAll([{ semaphore, permits }])],
        ['timeout', [], [NaN], (timeout) => acquireAll([semaphore], timeout)],
        ['clock', [{}], [], (clock) => acquireAll([semaphore], { clock })],
        ['fn', ['fn'], [], (fn) => useAll([semaphore], fn), (fn) => mutex.use('a', fn)],
        [
          'keys',
          [undefined, 5, new Set(['a']), 'a\ud800'],
          ['', 'x'.repeat(600)],
          lock,
          (keys) => mutex.tryAcquire(keys),
        ],
        ['keys', [5, ['b']], [], (key) => lock(['a', key])],
        ['timeout', [], [-1], (timeout) => mutex.acquire('a', timeout)],
        ['signal', [{}], [], (signal) => mutex.acquire('a', { signal })],
      );
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      const longest = 'x'.repeat(512 - `keyed:${scope.name}:`.length);
      expect(await mutex.tryAcquire(longest)).to.include({ held: true });
    },

    'of operator calls': needing('operator calls', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const ticket = { name: scope.name, ...TICKET };
      await using mutex = new Mutex(scope.target, scope.name);
      await expectRejected(
        ...BAD_PARTS.map(([option, types]): Refusal => {
          const part = option.slice('ticket.'.length);
          return [option, types, [], (value) => semaphore.adopt({ ...ticket, [part]: value })];
        }),
        ['ticket', [undefined, null, 'abc.1'], [], (value) => semaphore.adopt(value)],
        ['ticketId', [undefined, 5, 'no id', 'a.1;b.2', 'a.1|'], [], (id) => semaphore.revoke(id)],
        ['limit', ['3', null], [-1, 1.5, NaN, Infinity], (limit) => semaphore.setLimit(limit)],
        [
          'delta',
          ['3', undefined],
          [1.5, NaN, Infinity, -3, 2 ** 53 - 1],
          (delta) => semaphore.addPermits(delta),
        ],
        ['rate', [3, null, '100/m'], [], (rate) => semaphore.setRate(rate)],
        ['rate.per', ['1'], [0, 1.5], (per) => semaphore.setRate({ permits: 1, per })],
        ['limit', [], [2, -1, '1', NaN], (limit) => mutex.setLimit(limit)],
        ['delta', [], [1, -1], (delta) => mutex.addPermits(delta)],
      );
      const { limit, ...state } = await semaphore.inspect();
      expect([limit, 'rate' in state]).to.deep.equal([2, false]);
      await semaphore.close();
      await errorOf(semaphore.setLimit(2), ClosedError);
      await errorOf(semaphore.addPermits(2), ClosedError);
      await errorOf(semaphore.revoke('abc.1'), ClosedError);
      await errorOf(semaphore.adopt(ticket), ClosedError);
    }),
  },
};
