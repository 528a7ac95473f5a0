import { expect } from 'chai';
import { inspect } from 'node:util';

import * as api from '../../src/index.js';
import { errorOf, reasonOf } from '../support/rejection.js';

type Call = (value: never) => unknown;
/** The values that a call refuses with a TypeError, and the values that are out of its range. */
type Bad = readonly [option: string, types: unknown[], ranges: unknown[]];
type Refusal = readonly [...Bad, ...calls: Call[]];

const HALF_A_LETTER = 'a\ud800';
const BAD_OPTIONS: readonly Bad[] = [
  ['limit', [undefined, null, '5', 5n, [5]], [0, -1, 1.5, NaN, Infinity, 2 ** 53]],
  [
    'ttl',
    ['1000', null, 1000n],
    [99, 99.9, 0, -1, NaN, Infinity, 2 ** 31, Number.MAX_SAFE_INTEGER],
  ],
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
  ['budgets', [3, 0, null, false, []], []],
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
  ['waitTimeout', [1], []],
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

const SECRET = 'hunter2';
/** These options may be any text. */
const FREE = ['group', 'prefix', 'label', 'name', 'key', 'keys'];

/** Never by a throw, and without the password of a URL. */
async function expectRejected(...refusals: Refusal[]): Promise<void> {
  for (const [option, types, ranges, ...calls] of refusals) {
    for (const call of calls) {
      const reason = (value: unknown) => reasonOf(call(value as never) as Promise<unknown>);
      if (!FREE.includes(option))
        expect(inspect(await reason(`redis://u:${SECRET}@host`))).not.to.include(SECRET);
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

/** A constructor throws. */
function made(Class: new (...args: never[]) => unknown, ...before: unknown[]): Call {
  return async (...options: unknown[]): Promise<unknown> =>
    Reflect.construct(Class, [...before, ...options]);
}

describe('bad arguments', () => {
  const backend = new api.MemoryBackend();
  const semaphore = new api.Semaphore(backend, 'jobs', { limit: 3 });
  const mutex = new api.Mutex(backend, 'mutex');
  const locks = new api.KeyedMutex(backend, { name: 'locks' });
  const keyed = new api.KeyedSemaphore(backend, { limit: 1 });
  const files = new api.ReadWriteLock(backend, 'files');
  const leader = new api.Election(backend, 'leader');
  const nothing = (): void => {};

  it('of constructors are refused, each by its name', async () => {
    const { Semaphore } = api;
    const named = made(Semaphore, backend, 'a');
    const [mutexes, elections] = [made(api.Mutex, backend, 'a'), made(api.Election, backend, 'a')];
    const readers = made(api.ReadWriteLock, backend, 'a');
    const [mutexesByKey, byKey] = [
      made(api.KeyedMutex, backend),
      made(api.KeyedSemaphore, backend),
    ];
    const given = (call: Call, option: string, beside = {}): Call => {
      return (value) => call({ ...beside, [option]: value } as never);
    };
    const one = { limit: 1 };
    await expectRejected(
      ...BAD_OPTIONS.map((bad): Refusal => {
        return [...bad, (value) => named(withBad(bad[0], value) as never)];
      }),
      [
        'target',
        [undefined, null, ...CONNECTIONS, 'redis://a'],
        [],
        async (target) => {
          return new Semaphore(target, 'a', one);
        },
      ],
      [
        'name',
        [undefined, null, 5, '\udc00a'],
        ['', ...LONG_NAMES],
        async (name) => {
          return new Semaphore(backend, name, one);
        },
      ],
      ['options', [undefined, null, 5], [], named],
      ['options', [5, null, []], [], mutexes],
      ['options', ['a', []], [], mutexesByKey],
      ['options', [undefined], [], byKey],
      ['options', [5], [], made(api.MemoryBackend)],
      ['clock', [null, {}], [], given(made(api.MemoryBackend), 'clock')],
      ['limit', [], [1, 2, '1'], given(mutexes, 'limit'), given(elections, 'limit')],
      ['limit', [], [1, 3], given(mutexesByKey, 'limit')],
      ['limit', [undefined], [], given(byKey, 'limit')],
      ['limit', [], [0, 2 ** 24 + 1], given(readers, 'limit')],
      ['ttl', [], [5], given(mutexes, 'ttl'), given(mutexesByKey, 'ttl')],
      ['name', [5, 'a:b', HALF_A_LETTER], ['', 'x'.repeat(129)], given(mutexesByKey, 'name')],
      ['name', ['a:b'], [], given(byKey, 'name', one)],
      ['nam', ['a'], [], given(byKey, 'nam', one)],
      ['stripes', ['8'], [0, 1.5], given(mutexesByKey, 'stripes')],
      ['stripes', [3], [], given(byKey, 'stripes', one)],
      ['readers', [5], [], given(readers, 'readers')],
      ['again', ['yes'], [], given(elections, 'again')],
      ['agian', [true], [], given(elections, 'agian')],
    );
    const alone = named({ limit: 1, replicas: { atLeast: 1 } } as never) as Promise<unknown>;
    const { message } = await errorOf(alone, TypeError);
    expect(message).to.match(/^replicas: expected none, or a client of one Redis/);
  });

  it('of calls are refused, each by its name, and the call takes nothing', async () => {
    const all = (semaphores: unknown): Promise<unknown> => api.acquireAll(semaphores as []);
    const lock = (keys: unknown): Promise<unknown> => locks.acquire(keys as string);
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
      ['count', [1], [], (count) => semaphore.tryAcquire({ count } as object)],
      ['count', [1], [], (count) => semaphore.tryUse(nothing, { count } as object)],
      ['fn', [5, 'job'], [], (fn) => semaphore.use(fn), (fn) => semaphore.tryUse(fn)],
      ['semaphores', [undefined, 5], [], all],
      ['semaphores', [5, {}, null], [], (each) => all([each])],
      ['semaphores.count', [1], [], (count) => all([{ semaphore, count }])],
      ['permits', ['1'], [0, 4], (permits) => api.acquireAll([{ semaphore, permits }])],
      ['timeout', [], [NaN], (timeout) => api.acquireAll([semaphore], timeout)],
      ['clock', [{}], [], (clock) => api.acquireAll([semaphore], { clock })],
      ['late', [1], [], (late) => api.acquireAll([semaphore], { late } as object)],
      ['late', [1], [], (late) => api.useAll([semaphore], nothing, { late } as object)],
      ['fn', ['fn'], [], (fn) => api.useAll([semaphore], fn), (fn) => locks.use('a', fn)],
      ['keys', [undefined, 5, new Set(['a']), HALF_A_LETTER], ['', 'x'.repeat(600)], lock],
      ['keys', [undefined, 5], [''], (keys) => locks.tryAcquire(keys)],
      ['keys', [5, ['b']], [], (key) => lock(['a', key])],
      ['timeout', [], [-1], (timeout) => locks.acquire('a', timeout)],
      ['late', [1], [], (late) => locks.use('a', nothing, { late } as object)],
      ['signal', [{}], [], (signal) => locks.acquire('a', { signal })],
      ['signal', [5], [], (signal) => leader.campaign(signal)],
      ['permits', [1], [], (permits) => files.acquireRead({ permits } as object)],
      ['permits', [1], [], (permits) => files.acquireWrite({ permits } as object)],
      ['timeout', [], [-1], (timeout) => files.acquireRead({ timeout })],
      ['timeout', [], [-1], (timeout) => files.acquireWrite({ timeout })],
      ['fn', [5], [], (fn) => files.read(fn), (fn) => files.write(fn)],
      ['fn', [5], [], (fn) => keyed.tryUse('a', fn)],
      ['ttl', [5], [], (ttl) => keyed.acquire('a', { ttl } as object)],
      [
        'key',
        [undefined, 5, ['a'], HALF_A_LETTER],
        ['', 'x'.repeat(600)],
        (key) => {
          return keyed.acquire(key);
        },
      ],
    );
    for (const each of [semaphore, files.semaphore, leader.mutex])
      expect(await each.inspect()).to.include({ held: 0, waiting: 0 });
    const longest = 'x'.repeat(512 - 'keyed:locks:'.length);
    expect(await locks.tryAcquire(longest)).to.include({ held: true });
  });

  it('of operator calls are refused, each by its name', async () => {
    const ticket = { name: 'jobs', id: 'abc.1', slots: [0], fencingToken: 5 };
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
      ['delta', [], [-4, 2 ** 53 - 1], (delta) => semaphore.addPermits(delta)],
      ['rate', [3, null, '100/m'], [], (rate) => semaphore.setRate(rate)],
      ['rate.per', ['1'], [0, 1.5], (per) => semaphore.setRate({ permits: 1, per })],
      ['limit', [], [2, -1, '1', NaN], (limit) => mutex.setLimit(limit)],
      ['delta', [], [1, -1], (delta) => mutex.addPermits(delta)],
    );
    const { limit, ...state } = await semaphore.inspect();
    expect([limit, 'rate' in state]).to.deep.equal([3, false]);
    await semaphore.close();
    const calls = [
      semaphore.setLimit(2),
      semaphore.addPermits(2),
      semaphore.revoke('abc.1'),
      adopt({}),
    ];
    for (const call of calls) await errorOf<Error>(call, api.ClosedError);
  });
});
