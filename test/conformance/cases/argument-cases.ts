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
import { caseGroup } from '../scope.js';

type Call = (value: never) => unknown;
/** The values that a call refuses with a TypeError, and the values that are out of its range. */
type Bad = readonly [option: string, types: unknown[], ranges: unknown[]];
type Refusal = readonly [...Bad, ...calls: Call[]];

const HALF_A_LETTER = 'a\ud800';
const BAD_OPTIONS: readonly Bad[] = [
  ['limit', [undefined, null, '5', 5n, [5]], [0, -1, 1.5, NaN, Infinity, 2 ** 53]],
  ['ttl', ['1000', null], [99, 99.9, 0, -1, NaN, Infinity, 2 ** 31, Number.MAX_SAFE_INTEGER]],
  ['extendEvery', ['100', null], [-1, NaN, Infinity, 15_001]],
  ['retry', [5, '10', null], []],
  ['retry.min', ['10'], [0, -1, NaN]],
  ['retry.max', ['10'], [9, Infinity]],
  ['retry.factor', ['2'], [0.5, NaN]],
  ['retry.jitter', [1], []],
  ['prefix', [5, 'a{b', 'a}b', HALF_A_LETTER], ['', 'x'.repeat(129)]],
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

const CONNECTIONS = [{}, { eval: 1, evalsha: 2 }, { runBySha: () => {} }, new Map()];
const LONG_NAMES = ['x'.repeat(513), 'x'.repeat(1000), '\u{1F600}'.repeat(129)];

const BAD_TIMEOUT: Bad = ['timeout', ['5'], [-1, -2000, NaN, -Infinity, 2 ** 53]];
const BAD_PERMITS: Bad = ['permits', ['1', null], [0, -1, 1.5, NaN, 4, 2 ** 24 + 1]];
const BAD_CALLS: readonly Bad[] = [
  BAD_TIMEOUT,
  BAD_PERMITS,
  ['signal', [null, 'abort', { aborted: false }, new AbortController()], []],
  ['priority', ['1', null], [-1, 10, 1.5, NaN]],
  ['group', [5, HALF_A_LETTER], ['', 'x'.repeat(129)]],
  // Without a group, no weight is right.
  ['weight', ['1', 2], [0, 1001, 1.5]],
];

/** The message has the length in bytes where that is wrong. */
function shownOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'array' : 'object';
  if (typeof value !== 'string') return String(value);
  const length = Buffer.byteLength(value);
  return length > 100 || length === 0 ? String(length) : JSON.stringify(value);
}

/** Each message names option, expectation and value. */
function expectRefused(reason: unknown, option: string, value: unknown, type: typeof Error): void {
  expect(reason, option).to.be.instanceOf(type).and.include({ code: 'INVALID_ARGUMENT' });
  const { message } = reason as Error;
  const [, named, shown] = /^([\w.]+): expected .+, got (.+)$/s.exec(message) ?? [];
  expect(named, `option in ${message}`).to.equal(option);
  expect(shown, `value in ${message}`).to.include(shownOf(value));
}

/** Never by a throw. */
async function expectRejected(...refusals: Refusal[]): Promise<void> {
  for (const [option, types, ranges, ...calls] of refusals) {
    for (const call of calls) {
      const reason = (value: unknown) => reasonOf(call(value as never) as Promise<unknown>);
      for (const bad of types) expectRefused(await reason(bad), option, bad, TypeError);
      for (const bad of ranges) expectRefused(await reason(bad), option, bad, RangeError);
    }
  }
}

/** The options of a semaphore, with a wrong value of the option. */
function withBad(option: string, value: unknown): object {
  const [outer = '', inner] = option.split('.');
  const beside = outer === 'rate' ? { permits: 1, per: 1000 } : {};
  return { limit: 1, [outer]: inner === undefined ? value : { ...beside, [inner]: value } };
}

const nothing = (): void => {};

/** The first line of the failure table. */
export const argumentCases = caseGroup('bad arguments', [], (it) => {
  it('of constructors are refused, each by its name', async ({ place: { target }, name }) => {
    const make = async (...given: unknown[]): Promise<unknown> =>
      Reflect.construct(Semaphore, given);
    const mutex = async (options: unknown) => new Mutex(target, name, options as object);
    const keyed = async (options: unknown) => new KeyedMutex(target, options as object);
    const one = { limit: 1 };
    await expectRejected(
      ...BAD_OPTIONS.map((bad): Refusal => {
        return [...bad, (value) => make(target, name, withBad(bad[0], value))];
      }),
      ['target', [undefined, null, ...CONNECTIONS, 'redis://a'], [], (at) => make(at, name, one)],
      ['name', [undefined, null, 5, '\udc00a'], ['', ...LONG_NAMES], (as) => make(target, as, one)],
      ['options', [undefined, null, 5], [], (options) => make(target, name, options)],
      ['options', [5, null], [], mutex],
      ['options', ['a'], [], keyed],
      ['limit', [], [1, 2, '1'], (limit) => mutex({ limit })],
      ['limit', [], [1, 3], (limit) => keyed({ limit })],
      ['ttl', [], [5], (ttl) => mutex({ ttl }), (ttl) => keyed({ ttl })],
      ['name', [5, 'a:b', HALF_A_LETTER], ['', 'x'.repeat(129)], (as) => keyed({ name: as })],
      ['stripes', ['8'], [0, 1.5], (stripes) => keyed({ stripes })],
    );
    const alone = make(new MemoryBackend(), name, { limit: 1, replicas: { atLeast: 1 } });
    const { message } = await errorOf(alone, TypeError);
    expect(message).to.match(/^replicas: expected none, or a client of one Redis/);
  });

  it('of calls are refused, each by its name, and the call takes nothing', async (scope) => {
    const semaphore = scope.semaphore({ limit: 3 });
    const [mutex] = scope.keyed();
    const all = (semaphores: unknown): Promise<unknown> => acquireAll(semaphores as []);
    const lock = (keys: unknown): Promise<unknown> => mutex.acquire(keys as string);
    await expectRejected(
      ...BAD_CALLS.flatMap((bad): Refusal[] => [
        [...bad, (value) => semaphore.acquire({ [bad[0]]: value })],
        [...bad, (value) => semaphore.use(nothing, { [bad[0]]: value })],
      ]),
      [...BAD_TIMEOUT, (timeout) => semaphore.acquire(timeout)],
      ['timeout', [null], [], (timeout) => semaphore.acquire(timeout)],
      [...BAD_PERMITS, (permits) => semaphore.tryAcquire({ permits })],
      [...BAD_PERMITS, (permits) => semaphore.tryUse(nothing, { permits })],
      ['drain', ['5'], [-1, NaN, Infinity, 2 ** 31], (drain) => semaphore.close({ drain })],
      ['options', [null], [], (options) => semaphore.tryAcquire(options)],
      ['fn', [5, 'job'], [], (fn) => semaphore.use(fn), (fn) => semaphore.tryUse(fn)],
      ['semaphores', [undefined, 5], [], all],
      ['semaphores', [5, {}, null], [], (each) => all([each])],
      ['permits', ['1'], [0, 4], (permits) => acquireAll([{ semaphore, permits }])],
      ['timeout', [], [NaN], (timeout) => acquireAll([semaphore], timeout)],
      ['clock', [{}], [], (clock) => acquireAll([semaphore], { clock })],
      ['fn', ['fn'], [], (fn) => useAll([semaphore], fn), (fn) => mutex.use('a', fn)],
      ['keys', [undefined, 5, new Set(['a']), HALF_A_LETTER], ['', 'x'.repeat(600)], lock],
      ['keys', [undefined, 5], [''], (keys) => mutex.tryAcquire(keys)],
      ['keys', [5, ['b']], [], (key) => lock(['a', key])],
      ['timeout', [], [-1], (timeout) => mutex.acquire('a', timeout)],
      ['signal', [{}], [], (signal) => mutex.acquire('a', { signal })],
    );
    expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    const longest = 'x'.repeat(512 - `keyed:${scope.name}:`.length);
    expect(await mutex.tryAcquire(longest)).to.include({ held: true });
  });
});

export const operatorArgumentCases = caseGroup('bad arguments', ['operator calls'], (it) => {
  it('of operator calls are refused, each by its name', async (scope) => {
    const semaphore = scope.semaphore({ limit: 2 });
    const [mutex] = scope.inBoth((at) => new Mutex(at, scope.name));
    const ticket = { name: scope.name, id: 'abc.1', slots: [0], fencingToken: 5 };
    const adopt = (part: object): Promise<unknown> => semaphore.adopt({ ...ticket, ...part });
    const ids = [undefined, 'abc', 'abc.1|2', 'abc.1 2', 'abc.1~x.1~y.1'];
    await expectRejected(
      ['ticket', [undefined, null, 'abc.1'], [], (value) => semaphore.adopt(value)],
      ['ticket.name', ['other', undefined], [], (name) => adopt({ name })],
      ['ticket.id', ids, [], (id) => adopt({ id })],
      ['ticket.slots', [[], ['0'], 1], [], (slots) => adopt({ slots })],
      ['ticket.fencingToken', [1.5, undefined], [], (fencingToken) => adopt({ fencingToken })],
      ['ticketId', [undefined, 5, 'no id', 'a.1;b.2', 'a.1|'], [], (id) => semaphore.revoke(id)],
      ['limit', ['3', null], [-1, 1.5, NaN, Infinity], (limit) => semaphore.setLimit(limit)],
      ['delta', ['3', undefined], [1.5, NaN, Infinity], (delta) => semaphore.addPermits(delta)],
      ['delta', [], [-3, 2 ** 53 - 1], (delta) => semaphore.addPermits(delta)],
      ['rate', [3, null, '100/m'], [], (rate) => semaphore.setRate(rate)],
      ['rate.per', ['1'], [0, 1.5], (per) => semaphore.setRate({ permits: 1, per })],
      ['limit', [], [2, -1, '1', NaN], (limit) => mutex.setLimit(limit)],
      ['delta', [], [1, -1], (delta) => mutex.addPermits(delta)],
    );
    const { limit, ...state } = await semaphore.inspect();
    expect([limit, 'rate' in state]).to.deep.equal([2, false]);
    await semaphore.close();
    const calls = [
      semaphore.setLimit(2),
      semaphore.addPermits(2),
      semaphore.revoke('abc.1'),
      adopt({}),
    ];
    for (const call of calls) await errorOf<Error>(call, ClosedError);
  });
});
