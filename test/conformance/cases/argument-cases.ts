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

/** The values that a TypeError refuses, and the values that a RangeError refuses. */
interface Bad {
  readonly type?: readonly unknown[];
  readonly range?: readonly unknown[];
}
type Call = (value: never) => unknown;
type Refusal = readonly [option: string, bad: Bad, ...calls: Call[]];

const BAD_OPTIONS: Readonly<Record<string, Bad>> = {
  limit: { type: [undefined, null, '5', 5n, [5]], range: [0, -1, 1.5, NaN, Infinity, 2 ** 53] },
  ttl: {
    type: ['1000', null],
    range: [99, 99.9, 0, -1, NaN, Infinity, 2 ** 31, Number.MAX_SAFE_INTEGER],
  },
  extendEvery: { type: ['100', null], range: [-1, NaN, Infinity, 15_001] },
  retry: { type: [5, '10', null] },
  'retry.min': { type: ['10'], range: [0, -1, NaN] },
  'retry.max': { type: ['10'], range: [9, Infinity] },
  'retry.factor': { type: ['2'], range: [0.5, NaN] },
  'retry.jitter': { type: [1] },
  prefix: { type: [5, 'a{b', 'a}b', 'a\ud800'], range: ['', 'x'.repeat(129)] },
  label: { type: [5, null, 'a\udc00'], range: ['x'.repeat(257)] },
  maxWaiting: { type: ['5', null], range: [-1, 1.5, NaN] },
  clock: { type: [5, {}, null] },
  replicas: { type: [3, null] },
  rate: { type: [3, null, '100/m', [100, 60_000]] },
  'rate.permits': { type: ['1', undefined], range: [0, -1, 1.5, NaN, Infinity, 2 ** 53] },
  'rate.per': { type: ['1'], range: [0, 1.5, NaN, Infinity, 31_536_000_001] },
  'rate.burst': { type: ['1'], range: [0, 1.5, NaN, Infinity] },
  'replicas.atLeast': { type: ['1', undefined], range: [0, 1.5] },
};

/** The parts of an option beside the wrong part. */
const BESIDE: Readonly<Record<string, object>> = { rate: { permits: 1, per: 1000 } };

const BAD_KEYED_OPTIONS: Readonly<Record<string, Bad>> = {
  limit: { range: [1, 3] },
  name: { type: [5, 'a:b', 'a\ud800'], range: ['', 'x'.repeat(129)] },
  stripes: { type: ['8'], range: [0, 1.5] },
  ttl: { range: [5] },
};

const BAD_KEYS: Bad = {
  type: [undefined, 5, new Set(['a']), 'a\ud800'],
  range: ['', 'x'.repeat(600)],
};

const BAD_NAMES: Bad = {
  type: [undefined, null, 5, 'a\ud800', '\udc00a'],
  range: ['', 'x'.repeat(513), 'x'.repeat(1000), '\u{1F600}'.repeat(129)],
};

const BAD_TARGETS = [undefined, null, {}, { eval: 1, evalsha: 2 }, { runBySha: () => {} }];

/** By the calls that know the option. */
const BAD_CALLS: Readonly<Record<string, Bad>> = {
  timeout: { type: ['5'], range: [-1, -2000, NaN, -Infinity, 2 ** 53] },
  signal: { type: [null, 'abort', { aborted: false }, new AbortController()] },
  permits: { type: ['1', null], range: [0, -1, 1.5, NaN, 4, 2 ** 24 + 1] },
  priority: { type: ['1', null], range: [-1, 10, 1.5, NaN] },
  group: { type: [5, 'a\ud800'], range: ['', 'x'.repeat(129)] },
  // Without a group, none is right.
  weight: { type: ['1', 2], range: [0, 1001, 1.5] },
};

/** Parts of a ticket. */
const BAD_PARTS: Readonly<Record<string, readonly unknown[]>> = {
  name: ['other', undefined],
  id: [undefined, 'abc', 'abc.1|2', 'abc.1 2', 'abc.1~x.1~y.1'],
  slots: [[], ['0'], 1],
  fencingToken: [1.5, undefined],
};

/** The message has the length in bytes where that is wrong. */
function shownOf(value: unknown): string {
  if (typeof value === 'string') {
    const length = Buffer.byteLength(value);
    return length > 100 || length === 0 ? String(length) : JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : 'object';
}

/**
 * A call refuses each value, by a throw or by a rejection, with a message that names option,
 * expectation and value.
 */
async function expectRefused(
  how: (act: () => unknown) => unknown,
  refusals: readonly Refusal[],
): Promise<void> {
  for (const [option, { type = [], range = [] }, ...calls] of refusals) {
    for (const value of [...type, ...range]) {
      for (const call of calls) {
        const error = await how(() => call(value as never));
        expect(error, option).to.be.instanceOf(type.includes(value) ? TypeError : RangeError);
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

const nothing = (): void => {};

/** The first line of the failure table. */
export const argumentCases: CaseGroup = {
  title: 'bad arguments',
  cases: {
    'of the constructor': async ({ target, name }) => {
      const refusals = Object.entries(BAD_OPTIONS).map(([option, bad]): Refusal => {
        const [outer = '', inner] = option.split('.');
        const change = (value: unknown): object => ({
          [outer]: inner === undefined ? value : { ...BESIDE[outer], [inner]: value },
        });
        return [
          option,
          bad,
          (value) => new Semaphore(target, name, { limit: 1, ...change(value) }),
        ];
      });
      const on = (value: never): Semaphore => new Semaphore(value, name, { limit: 1 });
      await expectThrown(
        ...refusals,
        ['target', { type: [...BAD_TARGETS, new Map(), 'redis://127.0.0.1'] }, on],
        ['name', BAD_NAMES, (value) => new Semaphore(target, value, { limit: 1 })],
        ['options', { type: [undefined, null, 5] }, (value) => new Semaphore(target, name, value)],
      );
      const alone = { limit: 1, replicas: { atLeast: 1 } };
      const unconfirmed = thrownBy(() => new Semaphore(new MemoryBackend(), name, alone));
      expect(unconfirmed).to.match(/^TypeError: replicas: expected none, or a client of one Redis/);
    },

    'of a mutex': async ({ target, name }) => {
      const make = (value: unknown): Mutex => new Mutex(target, name, value as object);
      await expectThrown(
        ['options', { type: [5, null] }, make],
        ['limit', { range: [1, 2, '1'] }, (limit) => make({ limit })],
        ['ttl', { range: [5] }, (ttl) => make({ ttl })],
      );
      await using mutex = make({});
      await expectRejected(
        ['limit', { range: [2, -1, '1', NaN] }, (limit) => mutex.setLimit(limit)],
        ['delta', { range: [1, -1] }, (delta) => mutex.addPermits(delta)],
      );
    },

    'of calls, which take nothing': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const acquire: Call = (value) => semaphore.acquire(value);
      const tries: Call[] = [
        (permits) => semaphore.tryAcquire({ permits }),
        (permits) => semaphore.tryUse(nothing, { permits }),
      ];
      const refusals = Object.entries(BAD_CALLS).map(([option, bad]): Refusal => [
        option,
        bad,
        (value) => semaphore.acquire({ [option]: value }),
        (value) => semaphore.use(nothing, { [option]: value }),
        ...(option === 'timeout' ? [acquire] : []),
        ...(option === 'permits' ? tries : []),
      ]);
      const drains = { type: ['5'], range: [-1, NaN, Infinity, 2 ** 31] };
      await expectRejected(
        ...refusals,
        ['drain', drains, (drain) => semaphore.close({ drain })],
        ['timeout', { type: [null] }, acquire],
        ['options', { type: [null] }, (value) => semaphore.tryAcquire(value)],
        ['fn', { type: [5, 'job'] }, (fn) => semaphore.use(fn), (fn) => semaphore.tryUse(fn)],
      );
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'of setLimit, adopt and revoke': needing('operator calls', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const ticket = { name: scope.name, id: 'abc.1', slots: [0], fencingToken: 5 };
      const parts = Object.entries(BAD_PARTS).map(([part, type]): Refusal => [
        `ticket.${part}`,
        { type },
        (value) => semaphore.adopt({ ...ticket, [part]: value }),
      ]);
      const deltas = { type: ['3', undefined], range: [1.5, NaN, Infinity, -3, 2 ** 53 - 1] };
      const per = { type: ['1'], range: [0, 1.5] };
      const ids = { type: [undefined, 5, 'no id', 'a.1;b.2', 'a.1|'] };
      await expectRejected(
        ['delta', deltas, (delta) => semaphore.addPermits(delta)],
        [
          'limit',
          { type: ['3', null], range: [-1, 1.5, NaN, Infinity] },
          (limit) => semaphore.setLimit(limit),
        ],
        ['rate', { type: [3, null, '100/m'] }, (rate) => semaphore.setRate(rate)],
        ['rate.per', per, (value) => semaphore.setRate({ permits: 1, per: value })],
        ...parts,
        ['ticket', { type: [undefined, null, 'abc.1'] }, (value) => semaphore.adopt(value)],
        ['ticketId', ids, (id) => semaphore.revoke(id)],
      );
      const { limit, ...state } = await semaphore.inspect();
      expect([limit, 'rate' in state]).to.deep.equal([2, false]);
      await semaphore.close();
      await errorOf(semaphore.setLimit(2), ClosedError);
      await errorOf(semaphore.addPermits(2), ClosedError);
      await errorOf(semaphore.revoke('abc.1'), ClosedError);
      await errorOf(semaphore.adopt(ticket), ClosedError);
    }),

    'of a keyed mutex': async (scope) => {
      const make = (value: unknown): KeyedMutex => new KeyedMutex(scope.target, value as object);
      const refusals = Object.entries(BAD_KEYED_OPTIONS).map(([option, bad]): Refusal => [
        option,
        bad,
        (value) => make({ [option]: value }),
      ]);
      await expectThrown(['options', { type: ['a'] }, make], ...refusals);
      const [mutex] = scope.keyed();
      const acquire = (keys: never): Promise<unknown> => mutex.acquire(keys);
      await expectRejected(
        ['keys', BAD_KEYS, acquire, (keys) => mutex.tryAcquire(keys)],
        ['keys', { type: [5, ['b']] }, (key) => acquire(['a', key] as never)],
        ['timeout', { range: [-1] }, (timeout) => mutex.acquire('a', timeout)],
        ['signal', { type: [{}] }, (signal) => mutex.acquire('a', { signal })],
        ['fn', { type: [5] }, (fn) => mutex.use('a', fn)],
      );
      const longest = 'x'.repeat(512 - `keyed:${scope.name}:`.length);
      expect(await mutex.tryAcquire(longest)).to.include({ held: true });
    },

    'of acquireAll and useAll': async (scope) => {
      const semaphore = scope.semaphore();
      const all = (value: unknown): Promise<unknown> => acquireAll(value as []);
      await expectRejected(
        ['semaphores', { type: [undefined, 5] }, all],
        ['semaphores', { type: [5, {}, null] }, (each) => all([each])],
        [
          'permits',
          { type: ['1'], range: [0, 2] },
          (permits) => acquireAll([{ semaphore, permits }]),
        ],
        ['timeout', { range: [NaN] }, (timeout) => acquireAll([semaphore], timeout)],
        ['clock', { type: [{}] }, (clock) => acquireAll([semaphore], { clock })],
        ['fn', { type: ['fn'] }, (fn) => useAll([semaphore], fn)],
      );
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },
  },
};
