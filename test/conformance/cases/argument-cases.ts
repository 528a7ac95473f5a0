import { expect } from 'chai';

import { formatValue } from '../../../src/arguments/shown.js';
import type { HandleData } from '../../../src/index.js';
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

/** What a TypeError refuses, and what a RangeError does. */
interface Bad {
  readonly type?: readonly unknown[];
  readonly range?: readonly unknown[];
}
type Call = (value: never) => unknown;

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

/** What an option has beside the part that is wrong. */
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

/** Parts of a ticket, and whole ones. */
const BAD_PARTS: Readonly<Record<string, readonly unknown[]>> = {
  name: ['other', undefined],
  id: [undefined, 'abc', 'abc.1|2', 'abc.1 2', 'abc.1~x.1~y.1'],
  slots: [[], ['0'], 1],
  fencingToken: [1.5, undefined],
};
const BAD_TICKETS = [undefined, null, 'abc.1'];
const BAD_IDS = [undefined, 5, '', 'no id', 'a.1;b.2', 'a.1|'];

/** Too long or too short: the message has the length in bytes. */
function shownOf(value: unknown): string {
  if (typeof value === 'string') {
    const length = Buffer.byteLength(value);
    return length > 100 || length === 0 ? String(length) : JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : 'object';
}

/**
 * Each value is refused, by a throw or by a rejection; the message names option, expectation and
 * value.
 */
async function expectRefused(
  option: string,
  { type = [], range = [] }: Bad,
  how: (act: () => unknown) => unknown,
  ...calls: readonly Call[]
): Promise<void> {
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

/** Never by a throw. */
function rejection(act: () => unknown): Promise<unknown> {
  return reasonOf(act() as Promise<unknown>);
}

const nothing = (): void => {};

/** The first line of the failure table. */
export const argumentCases: CaseGroup = {
  title: 'bad arguments',
  cases: {
    'of the constructor': async ({ target, name }) => {
      const make = (change: object): Semaphore =>
        new Semaphore(target, name, { limit: 1, ...change });
      for (const [option, bad] of Object.entries(BAD_OPTIONS)) {
        const [outer = '', inner] = option.split('.');
        const call = (value: unknown): Semaphore =>
          make({ [outer]: inner === undefined ? value : { ...BESIDE[outer], [inner]: value } });
        await expectRefused(option, bad, thrownBy, call);
      }
      const on = (value: never): Semaphore => new Semaphore(value, name, { limit: 1 });
      await expectRefused('target', { type: [...BAD_TARGETS, new Map()] }, thrownBy, on);
      const url = thrownBy(() => on('redis://127.0.0.1' as never));
      expect(url).to.be.instanceOf(TypeError);
      expect(url).to.match(/target: .*redis:\/\/127\.0\.0\.1/);
      const alone = { limit: 1, replicas: { atLeast: 1 } };
      const unconfirmed = thrownBy(() => new Semaphore(new MemoryBackend(), name, alone));
      expect(unconfirmed).to.match(
        /^TypeError: replicas: expected none, or a client of one Redis server/,
      );
      const named = (value: never): Semaphore => new Semaphore(target, value, { limit: 1 });
      await expectRefused('name', BAD_NAMES, thrownBy, named);
      const given = (value: never): Semaphore => new Semaphore(target, name, value);
      await expectRefused('options', { type: [undefined, null, 5] }, thrownBy, given);
    },

    'of a mutex': async ({ target, name }) => {
      const make = (value: unknown): Mutex => new Mutex(target, name, value as object);
      await expectRefused('options', { type: [5, null] }, thrownBy, make);
      await expectRefused('limit', { range: [1, 2, '1'] }, thrownBy, (limit) => make({ limit }));
      await expectRefused('ttl', { range: [5] }, thrownBy, (ttl) => make({ ttl }));
      await using mutex = make({});
      const set = (limit: never): Promise<void> => mutex.setLimit(limit);
      await expectRefused('limit', { range: [2, -1, '1', NaN] }, rejection, set);
      const add = (delta: never): Promise<number> => mutex.addPermits(delta);
      await expectRefused('delta', { range: [1, -1] }, rejection, add);
    },

    'of calls, which take nothing': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      for (const [option, bad] of Object.entries(BAD_CALLS)) {
        const calls: Call[] = [
          (value) => semaphore.acquire({ [option]: value }),
          (value) => semaphore.use(nothing, { [option]: value }),
        ];
        const short: Call[] = [(value) => semaphore.acquire(value)];
        const tries: Call[] = [
          (permits) => semaphore.tryAcquire({ permits }),
          (permits) => semaphore.tryUse(nothing, { permits }),
        ];
        if (option === 'timeout') calls.push(...short);
        if (option === 'permits') calls.push(...tries);
        await expectRefused(option, bad, rejection, ...calls);
      }
      const closing = (drain: never): Promise<void> => semaphore.close({ drain });
      await expectRefused(
        'drain',
        { type: ['5'], range: [-1, NaN, Infinity, 2 ** 31] },
        rejection,
        closing,
      );
      await expectRefused('timeout', { type: [null] }, rejection, (value) =>
        semaphore.acquire(value),
      );
      await expectRefused('options', { type: [null] }, rejection, (value) =>
        semaphore.tryAcquire(value),
      );
      const uses: Call[] = [(fn) => semaphore.use(fn), (fn) => semaphore.tryUse(fn)];
      await expectRefused('fn', { type: [5, 'job'] }, rejection, ...uses);
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'of setLimit, adopt and revoke': needing('operator calls', async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const limits: Bad = { type: ['3', null], range: [-1, 1.5, NaN, Infinity] };
      const deltas: Bad = {
        type: ['3', undefined],
        range: [1.5, NaN, Infinity, -3, Number.MAX_SAFE_INTEGER],
      };
      await expectRefused('delta', deltas, rejection, (delta) => semaphore.addPermits(delta));
      await expectRefused('limit', limits, rejection, (limit) => semaphore.setLimit(limit));
      const rates: Bad = { type: [3, null, '100/m'] };
      await expectRefused('rate', rates, rejection, (rate) => semaphore.setRate(rate));
      const ask = (per: never): Promise<void> => semaphore.setRate({ permits: 1, per });
      await expectRefused('rate.per', { type: ['1'], range: [0, 1.5] }, rejection, ask);
      expect(await semaphore.inspect()).not.to.have.property('rate');
      expect((await semaphore.inspect()).limit).to.equal(2);
      const expectNoTicket = async (ticket: unknown, option: string, value: unknown) => {
        const error = await errorOf(semaphore.adopt(ticket as HandleData), TypeError);
        expect(error.message.startsWith(`${option}: expected `), error.message).to.equal(true);
        expect(error.message).to.include(`, got ${formatValue(value)}; see: npx redsem help `);
        expect(error).to.have.property('code', 'INVALID_ARGUMENT');
      };
      const good = { name: scope.name, id: 'abc.1', slots: [0], fencingToken: 5 };
      for (const [part, values] of Object.entries(BAD_PARTS)) {
        for (const value of values) {
          await expectNoTicket({ ...good, [part]: value }, `ticket.${part}`, value);
        }
      }
      for (const ticket of BAD_TICKETS) await expectNoTicket(ticket, 'ticket', ticket);
      for (const id of BAD_IDS) {
        const error = await errorOf(semaphore.revoke(id as string), TypeError);
        expect(error.message).to.match(/^ticketId: expected the id of a ticket, got /);
      }
      await semaphore.close();
      await errorOf(semaphore.setLimit(2), ClosedError);
      await errorOf(semaphore.addPermits(2), ClosedError);
      await errorOf(semaphore.revoke('nobody.1'), ClosedError);
    }),

    'of a keyed mutex': async (scope) => {
      const make = (value: unknown): KeyedMutex => new KeyedMutex(scope.target, value as object);
      await expectRefused('options', { type: ['a'] }, thrownBy, make);
      for (const [option, bad] of Object.entries(BAD_KEYED_OPTIONS)) {
        await expectRefused(option, bad, thrownBy, (value) => make({ [option]: value }));
      }
      const [mutex] = scope.keyed();
      const acquire = (keys: never): Promise<unknown> => mutex.acquire(keys);
      await expectRefused('keys', BAD_KEYS, rejection, acquire, (keys) => mutex.tryAcquire(keys));
      await expectRefused('keys', { type: [5, ['b']] }, rejection, (key) =>
        acquire(['a', key] as never),
      );
      const timed = (value: never): Promise<unknown> => mutex.acquire('a', value);
      await expectRefused('timeout', { range: [-1] }, rejection, timed);
      await expectRefused('signal', { type: [{}] }, rejection, (signal) =>
        timed({ signal } as never),
      );
      await expectRefused('fn', { type: [5] }, rejection, (fn) => mutex.use('a', fn));
      const longest = 'x'.repeat(512 - `keyed:${scope.name}:`.length);
      expect(await mutex.tryAcquire(longest)).to.include({ held: true });
    },

    'of acquireAll and useAll': async (scope) => {
      const semaphore = scope.semaphore();
      const all = (value: unknown): Promise<unknown> => acquireAll(value as []);
      await expectRefused('semaphores', { type: [undefined, 5] }, rejection, all);
      await expectRefused('semaphores', { type: [5, {}, null] }, rejection, (each) => all([each]));
      const share = (permits: never): Promise<unknown> => all([{ semaphore, permits }]);
      await expectRefused('permits', { type: ['1'], range: [0, 2] }, rejection, share);
      const given = (value: never): Promise<unknown> => acquireAll([semaphore], value);
      await expectRefused('timeout', { range: [NaN] }, rejection, given);
      await expectRefused('clock', { type: [{}] }, rejection, (clock) => given({ clock } as never));
      await expectRefused('fn', { type: ['fn'] }, rejection, (fn) => useAll([semaphore], fn));
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },
  },
};
