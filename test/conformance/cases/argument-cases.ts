import { expect } from 'chai';

import type { HandleData } from '../../../src/index.js';
import {
  acquireAll,
  ClosedError,
  KeyedMutex,
  Mutex,
  Semaphore,
  useAll,
} from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { type Scope, thrownBy } from '../scope.js';

/** What a TypeError refuses, and what a RangeError does. */
type Bad = readonly [type: readonly unknown[], range: readonly unknown[]];
type Call = (value: never) => unknown;

const BAD_OPTIONS: Readonly<Record<string, Bad>> = {
  limit: [
    [undefined, null, '5', 5n, [5]],
    [0, -1, 1.5, NaN, Infinity, 2 ** 53],
  ],
  ttl: [['1000'], [99, 99.9, 0, -1, NaN, Infinity, 2 ** 31, Number.MAX_SAFE_INTEGER]],
  extendEvery: [['100'], [-1, NaN, Infinity, 15_001]],
  retry: [[5, '10'], []],
  'retry.min': [['10'], [0, -1, NaN]],
  'retry.max': [['10'], [9, Infinity]],
  'retry.factor': [['2'], [0.5, NaN]],
  'retry.jitter': [[1], []],
  prefix: [
    [5, 'a{b', 'a}b', 'a\ud800'],
    ['', 'x'.repeat(129)],
  ],
  label: [[5, 'a\udc00'], ['x'.repeat(257)]],
  clock: [[5, {}], []],
};

const BAD_KEYED_OPTIONS: readonly [option: string, options: unknown, bad: Bad][] = [
  ['options', 'a', [['a'], []]],
  ['limit', { limit: 3 }, [[], [3]]],
  ['name', { name: 5 }, [[5], []]],
  ['name', { name: '' }, [[], ['']]],
  ['name', { name: 'a:b' }, [['a:b'], []]],
  ['name', { name: 'a\ud800' }, [['a\ud800'], []]],
  ['name', { name: 'x'.repeat(129) }, [[], ['x'.repeat(129)]]],
  ['stripes', { stripes: 0 }, [[], [0]]],
  ['stripes', { stripes: 1.5 }, [[], [1.5]]],
  ['stripes', { stripes: '8' }, [['8'], []]],
  ['ttl', { ttl: 5 }, [[], [5]]],
];

const BAD_TICKETS: readonly (readonly [change: object, message: RegExp])[] = [
  [{ name: 'other' }, /^ticket\.name: .*this semaphore, got 'other'/],
  [{ id: undefined }, /^ticket\.id: .*got undefined/],
  [{ id: 'abc' }, /^ticket\.id: .*got 'abc'/],
  [{ id: 'abc.1|2' }, /^ticket\.id: /],
  [{ id: 'abc.1 2' }, /^ticket\.id: /],
  [{ id: 'abc.1~x.1~y.1' }, /^ticket\.id: /],
  [{ slots: [] }, /^ticket\.slots: .*got \[\]/],
  [{ slots: ['0'] }, /^ticket\.slots: /],
  [{ slots: 1 }, /^ticket\.slots: .*got 1/],
  [{ fencingToken: 1.5 }, /^ticket\.fencingToken: .*got 1.5/],
  [{ fencingToken: undefined }, /^ticket\.fencingToken: /],
];

/** Too long or too short: the message has the length in bytes. */
function shownOf(value: unknown): string {
  if (typeof value === 'string') {
    const length = Buffer.byteLength(value);
    return length > 100 || length === 0 ? String(length) : JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : 'object';
}

/** Each value is refused, by a throw or by a rejection; the message names option, expectation and value. */
async function expectRefused(
  option: string,
  [types, ranges]: Bad,
  how: (act: () => unknown) => unknown,
  ...calls: readonly Call[]
): Promise<void> {
  for (const value of [...types, ...ranges]) {
    for (const call of calls) {
      const error = await how(() => call(value as never));
      const which = `${option} ${shownOf(value)}`;
      expect(error, which).to.be.instanceOf(types.includes(value) ? TypeError : RangeError);
      const { message } = error as Error;
      const [, named, , shown] = /^([\w.]+): expected (.+), got (.+)$/s.exec(message) ?? [];
      expect(named, `option in ${message}`).to.equal(option);
      expect(shown, `value in ${message}`).to.include(shownOf(value));
    }
  }
}

/** Never by a throw. */
function rejection(act: () => unknown): Promise<unknown> {
  return reasonOf(act() as Promise<unknown>);
}

async function expectNothingTaken(scope: Scope): Promise<void> {
  expect(await scope.elsewhere().inspect()).to.include({ held: 0, waiting: 0 });
}

const nothing = (): void => {};

/** The first line of the failure table. [M 8, M 12, M 14, M 32, M 34, RS 1, RS 2, RD 3, SG, AM, O 2, O 3] */
export const argumentCases: CaseGroup = {
  title: 'bad arguments',
  cases: {
    'of the constructor': async ({ target, name }) => {
      const make = (change: object): Semaphore =>
        new Semaphore(target, name, { limit: 1, ...change });
      for (const [option, bad] of Object.entries(BAD_OPTIONS)) {
        const [outer = '', inner] = option.split('.');
        const call = (value: unknown): Semaphore =>
          make({ [outer]: inner === undefined ? value : { [inner]: value } });
        await expectRefused(option, bad, thrownBy, call);
      }
      const others = [
        undefined,
        null,
        {},
        { eval: 1, evalsha: 2 },
        { runBySha: () => {} },
        new Map(),
      ];
      await expectRefused(
        'target',
        [others, []],
        thrownBy,
        (value) => new Semaphore(value, name, { limit: 1 }),
      );
      const url = thrownBy(() => new Semaphore('redis://127.0.0.1' as never, name, { limit: 1 }));
      expect(url)
        .to.be.instanceOf(TypeError)
        .and.match(/target: .*redis:\/\/127\.0\.0\.1/);
      const names: Bad = [
        [undefined, null, 5, 'a\ud800', '\udc00a'],
        ['', 'x'.repeat(513), 'x'.repeat(1000), '\u{1F600}'.repeat(129)],
      ];
      await expectRefused(
        'name',
        names,
        thrownBy,
        (value) => new Semaphore(target, value, { limit: 1 }),
      );
      await expectRefused(
        'options',
        [[undefined, null, 5], []],
        thrownBy,
        (value) => new Semaphore(target, name, value),
      );
    },

    'of a mutex': async (scope) => {
      const { target, name } = scope;
      const make = (value: never): Mutex => new Mutex(target, name, value);
      await expectRefused('options', [[5, null], []], thrownBy, make);
      await expectRefused('limit', [[], [2, '1']], thrownBy, (limit) => make({ limit } as never));
      await expectRefused('ttl', [[], [5]], thrownBy, (ttl) => make({ ttl } as never));
      await using mutex = make({} as never);
      await expectRefused('limit', [[], [2, 0, '1', NaN]], rejection, (limit) =>
        mutex.setLimit(limit),
      );
    },

    'of calls, which take nothing': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const timeouts: Bad = [['5'], [-1, -2000, NaN, -Infinity, 2 ** 53]];
      await expectRefused(
        'timeout',
        timeouts,
        rejection,
        (timeout) => semaphore.acquire(timeout),
        (timeout) => semaphore.acquire({ timeout }),
        (timeout) => semaphore.use(nothing, timeout),
        (timeout) => semaphore.use(nothing, { timeout }),
      );
      const signals: Bad = [[null, 'abort', { aborted: false }, new AbortController()], []];
      await expectRefused(
        'signal',
        signals,
        rejection,
        (signal) => semaphore.acquire({ signal }),
        (signal) => semaphore.use(nothing, { signal }),
      );
      await expectRefused(
        'permits',
        [['1'], [0, -1, 1.5, NaN, 4, 2 ** 24 + 1]],
        rejection,
        (permits) => semaphore.acquire({ permits }),
        (permits) => semaphore.tryAcquire({ permits }),
        (permits) => semaphore.use(nothing, { permits }),
        (permits) => semaphore.tryUse(nothing, { permits }),
      );
      await expectRefused(
        'fn',
        [[5, 'job'], []],
        rejection,
        (fn) => semaphore.use(fn),
        (fn) => semaphore.tryUse(fn),
      );
      await expectNothingTaken(scope);
    },

    'of setLimit, adopt and revoke': needing('operator calls', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const limits: Bad = [
        ['3', undefined, null],
        [0, -1, 1.5, NaN, Infinity],
      ];
      await expectRefused('limit', limits, rejection, (limit) => semaphore.setLimit(limit));
      expect((await semaphore.inspect()).limit).to.equal(2);
      const good = { name: scope.name, id: 'abc.1', slots: [0], fencingToken: 5 };
      const tickets: (readonly [unknown, RegExp])[] = [
        [undefined, /^ticket: .* got undefined/],
        [null, /^ticket: .* got null/],
        ['abc.1', /^ticket: .* got 'abc.1'/],
        [{}, /^ticket\.name: .*this semaphore, got undefined/],
        ...BAD_TICKETS.map(([change, message]) => [{ ...good, ...change }, message] as const),
      ];
      for (const [ticket, message] of tickets) {
        const error = await errorOf(semaphore.adopt(ticket as HandleData), TypeError);
        expect(error.message).to.match(message);
      }
      for (const id of [undefined, 5, '', 'no id', 'a.1;b.2', 'a.1|']) {
        const error = await errorOf(semaphore.revoke(id as string), TypeError);
        expect(error.message).to.match(/^ticketId: expected the id of a ticket, got /);
      }
      await semaphore.close();
      await errorOf(semaphore.setLimit(2), ClosedError);
      await errorOf(semaphore.revoke('nobody.1'), ClosedError);
    }),

    'of a keyed mutex': async (scope) => {
      for (const [option, options, bad] of BAD_KEYED_OPTIONS) {
        const make = (): KeyedMutex => new KeyedMutex(scope.target, options as object);
        await expectRefused(option, bad, thrownBy, make);
      }
      const [mutex] = scope.keyed();
      const both: Call[] = [(keys) => mutex.acquire(keys), (keys) => mutex.tryAcquire(keys)];
      const keys: Bad = [
        [undefined, 5, new Set(['a']), 'a\ud800'],
        ['', 'x'.repeat(600)],
      ];
      await expectRefused('keys', keys, rejection, ...both);
      for (const [list, shown] of [
        [['a', 5], /got 5/],
        [['a', ['b']], /got an array/],
      ] as const) {
        expect(await reasonOf(mutex.acquire(list as never)))
          .to.be.instanceOf(TypeError)
          .and.match(shown);
      }
      await expectRefused('timeout', [[], [-1]], rejection, (value) => mutex.acquire('a', value));
      await expectRefused('signal', [[{}], []], rejection, (signal) =>
        mutex.acquire('a', { signal }),
      );
      await expectRefused('fn', [[5], []], rejection, (fn) => mutex.use('a', fn));
      const longest = 'x'.repeat(512 - `keyed:${scope.name}:`.length);
      expect(await mutex.tryAcquire(longest)).to.include({ held: true });
    },

    'of acquireAll and useAll': async (scope) => {
      const semaphore = scope.semaphore();
      const all: Call = (semaphores) => acquireAll(semaphores);
      await expectRefused('semaphores', [[undefined, 5], []], rejection, all);
      await expectRefused('semaphores', [[5, {}, null], []], rejection, (each) =>
        all([each] as never),
      );
      await expectRefused('permits', [['1'], [0, 2]], rejection, (permits) =>
        acquireAll([{ semaphore, permits }]),
      );
      await expectRefused('timeout', [[], [NaN]], rejection, (timeout) =>
        acquireAll([semaphore], timeout),
      );
      await expectRefused('clock', [[{}], []], rejection, (clock) =>
        acquireAll([semaphore], { clock }),
      );
      await expectRefused('fn', [['fn'], []], rejection, (fn) => useAll([semaphore], fn));
      await expectNothingTaken(scope);
    },
  },
};
