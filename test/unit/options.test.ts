import { expect } from 'chai';
import { hostname } from 'node:os';

import { systemClock } from '../../src/clock.js';
import { ManualClock } from '../../src/manual-clock.js';
import {
  checkName,
  checkPermits,
  resolveAcquire,
  resolveOptions,
  type SemaphoreOptions,
} from '../../src/options.js';

type Wrong = readonly [given: unknown, type: 'TypeError' | 'RangeError', message: string];

const longest = 2_147_483_647;
const safe = Number.MAX_SAFE_INTEGER;

/** What is wrong, for options that go with `limit: 1`. */
const WRONG_OPTIONS: readonly Wrong[] = [
  [{ limit: 0 }, 'RangeError', `limit: expected 1 to ${safe}, got 0`],
  [{ limit: -1 }, 'RangeError', `limit: expected 1 to ${safe}, got -1`],
  [{ limit: 1.5 }, 'RangeError', 'limit: expected an integer, got 1.5 (number)'],
  [{ limit: NaN }, 'RangeError', `limit: expected 1 to ${safe}, got NaN`],
  [{ limit: Infinity }, 'RangeError', `limit: expected 1 to ${safe}, got Infinity`],
  [{ limit: 2 ** 53 }, 'RangeError', `limit: expected 1 to ${safe}, got ${2 ** 53}`],
  [{ limit: '5' }, 'TypeError', 'limit: expected a number, got "5" (string)'],
  [{ limit: undefined }, 'TypeError', 'limit: expected a number, got undefined'],
  [{ limit: null }, 'TypeError', 'limit: expected a number, got null'],
  [{ limit: 5n }, 'TypeError', 'limit: expected a number, got 5n (bigint)'],
  [{ limit: [5] }, 'TypeError', 'limit: expected a number, got an array'],
  [{ ttl: 99 }, 'RangeError', `ttl: expected 100 to ${longest}, got 99`],
  [{ ttl: 0 }, 'RangeError', `ttl: expected 100 to ${longest}, got 0`],
  [{ ttl: -1 }, 'RangeError', `ttl: expected 100 to ${longest}, got -1`],
  [{ ttl: NaN }, 'RangeError', `ttl: expected 100 to ${longest}, got NaN`],
  [{ ttl: 2 ** 31 }, 'RangeError', `ttl: expected 100 to ${longest}, got ${2 ** 31}`],
  [{ ttl: '30s' }, 'TypeError', 'ttl: expected a number, got "30s" (string)'],
  [{ extendEvery: -1 }, 'RangeError', 'extendEvery: expected 0 to 15000, got -1'],
  [{ extendEvery: 15_001 }, 'RangeError', 'extendEvery: expected 0 to 15000, got 15001'],
  [{ ttl: 100, extendEvery: 51 }, 'RangeError', 'extendEvery: expected 0 to 50, got 51'],
  [{ extendEvery: true }, 'TypeError', 'extendEvery: expected a number, got true (boolean)'],
  [{ retry: 5 }, 'TypeError', 'retry: expected an object, got 5 (number)'],
  [{ retry: { min: 0 } }, 'RangeError', `retry.min: expected 1 to ${longest}, got 0`],
  [{ retry: { min: '1' } }, 'TypeError', 'retry.min: expected a number, got "1" (string)'],
  [{ retry: { max: 5 } }, 'RangeError', `retry.max: expected 10 to ${longest}, got 5`],
  [{ retry: { min: 300 } }, 'RangeError', `retry.max: expected 300 to ${longest}, got 200`],
  [{ retry: { factor: 0.5 } }, 'RangeError', 'retry.factor: expected 1 to 1000, got 0.5'],
  [{ retry: { factor: NaN } }, 'RangeError', 'retry.factor: expected 1 to 1000, got NaN'],
  [{ retry: { jitter: 1 } }, 'TypeError', 'retry.jitter: expected true or false, got 1 (number)'],
  [{ prefix: '' }, 'RangeError', 'prefix: expected 1 to 128 bytes, got 0'],
  [{ prefix: 'x'.repeat(129) }, 'RangeError', 'prefix: expected 1 to 128 bytes, got 129'],
  [{ prefix: 'a{b' }, 'TypeError', 'prefix: expected no braces, got "a{b" (string)'],
  [{ prefix: 'a}b' }, 'TypeError', 'prefix: expected no braces, got "a}b" (string)'],
  [{ prefix: 7 }, 'TypeError', 'prefix: expected a string, got 7 (number)'],
  [{ label: 'ü'.repeat(129) }, 'RangeError', 'label: expected 0 to 256 bytes, got 258'],
  [{ label: {} }, 'TypeError', 'label: expected a string, got an object'],
  [{ label: '\uD800' }, 'TypeError', 'label: expected well-formed Unicode, got "\\ud800" (string)'],
];

const WRONG_ACQUIRE: readonly Wrong[] = [
  [-1, 'RangeError', `timeout: expected 0 to ${safe}, got -1`],
  [NaN, 'RangeError', `timeout: expected 0 to ${safe}, got NaN`],
  [-Infinity, 'RangeError', `timeout: expected 0 to ${safe}, got -Infinity`],
  [
    '5',
    'TypeError',
    'timeout: expected a number of milliseconds or an options object, got "5" (string)',
  ],
  [{ timeout: '5' }, 'TypeError', 'timeout: expected a number, got "5" (string)'],
  [{ timeout: null }, 'TypeError', 'timeout: expected a number, got null'],
  [{ signal: {} }, 'TypeError', 'signal: expected an AbortSignal, got an object'],
  [{ signal: 1 }, 'TypeError', 'signal: expected an AbortSignal, got 1 (number)'],
  [{ permits: 0 }, 'RangeError', 'permits: expected 1 to 16777216, got 0'],
  [{ permits: 16_777_217 }, 'RangeError', 'permits: expected 1 to 16777216, got 16777217'],
  [{ permits: 1.5 }, 'RangeError', 'permits: expected an integer, got 1.5 (number)'],
  [{ permits: '2' }, 'TypeError', 'permits: expected a number, got "2" (string)'],
];

const WRONG_NAMES: readonly Wrong[] = [
  ['', 'RangeError', 'name: expected 1 to 512 bytes, got 0'],
  ['x'.repeat(513), 'RangeError', 'name: expected 1 to 512 bytes, got 513'],
  ['🚦'.repeat(129), 'RangeError', 'name: expected 1 to 512 bytes, got 516'],
  ['a\uDC00', 'TypeError', 'name: expected well-formed Unicode, got "a\\udc00" (string)'],
  [undefined, 'TypeError', 'name: expected a string, got undefined'],
  [null, 'TypeError', 'name: expected a string, got null'],
  [7, 'TypeError', 'name: expected a string, got 7 (number)'],
  [Symbol('s'), 'TypeError', 'name: expected a string, got Symbol(s) (symbol)'],
];

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return `${error.name}: ${error.message}`;
  }
  return 'not refused';
}

describe('options', () => {
  it('have their documented defaults', () => {
    expect(resolveOptions({ limit: 5 })).to.deep.equal({
      limit: 5,
      ttl: 30_000,
      extendEvery: 10_000,
      retry: { min: 10, max: 200, factor: 2, jitter: true },
      prefix: 'redsem',
      replicas: undefined,
      label: `${hostname()}:${process.pid}`,
      clock: systemClock,
    });
  });

  it('take what is given, up to the limits', () => {
    const clock = new ManualClock();
    const given: SemaphoreOptions = {
      limit: Number.MAX_SAFE_INTEGER,
      ttl: 100,
      extendEvery: 50,
      retry: { min: 1, max: 1, factor: 1, jitter: false },
      prefix: 'ü:*?[]%',
      label: '',
      replicas: { atLeast: 1, timeout: 1 },
      clock,
    };
    expect(resolveOptions(given)).to.deep.equal(given);
    expect(resolveOptions({ limit: 1, extendEvery: 0 }).extendEvery).to.equal(0);
    expect(resolveOptions({ limit: 1, ttl: longest }).ttl).to.equal(longest);
  });

  it('mix what is given of retry with the defaults', () => {
    const { retry } = resolveOptions({ limit: 1, retry: { max: 50 } });
    expect(retry).to.deep.equal({ min: 10, max: 50, factor: 2, jitter: true });
  });

  it("use the backend's clock unless told otherwise", () => {
    const [own, backends] = [new ManualClock(), new ManualClock()];
    expect(resolveOptions({ limit: 1 }, backends).clock).to.equal(backends);
    expect(resolveOptions({ limit: 1, clock: own }, backends).clock).to.equal(own);
  });

  it('cannot be changed afterwards', () => {
    expect(resolveOptions({ limit: 1 })).to.be.frozen;
  });

  for (const [given, type, message] of WRONG_OPTIONS) {
    it(`are refused: ${message.slice(0, 80)}`, () => {
      const options = Object.assign({ limit: 1 }, given);
      expect(refusal(() => resolveOptions(options))).to.equal(`${type}: ${message}`);
    });
  }

  for (const given of [undefined, null, 5, 'limit']) {
    it(`are refused when they are ${String(given)}`, () => {
      expect(refusal(() => Reflect.apply(resolveOptions, undefined, [given]))).to.match(
        /^TypeError: options: expected an object with a limit, got /,
      );
    });
  }

  for (const [given, type, message] of WRONG_ACQUIRE) {
    it(`of acquire are refused: ${message}`, () => {
      const act = (): unknown => Reflect.apply(resolveAcquire, undefined, [given]);
      expect(refusal(act)).to.equal(`${type}: ${message}`);
    });
  }

  it('of acquire have their documented defaults', () => {
    const expected = { timeout: Infinity, signal: undefined, permits: 1 };
    expect(resolveAcquire(undefined)).to.deep.equal(expected);
    expect(resolveAcquire({})).to.deep.equal(expected);
    expect(resolveAcquire({ timeout: Infinity })).to.deep.equal(expected);
    expect(resolveAcquire(0)).to.deep.equal({ ...expected, timeout: 0 });
    expect(resolveAcquire(2 ** 33)).to.deep.equal({ ...expected, timeout: 2 ** 33 });
  });

  it('of acquire take a signal and permits', () => {
    const { signal } = new AbortController();
    const given = { timeout: 5, signal, permits: 3 };
    expect(resolveAcquire(given)).to.deep.equal(given);
    expect(checkPermits(16_777_216)).to.equal(16_777_216);
  });

  for (const [given, type, message] of WRONG_NAMES) {
    it(`a name is refused: ${message}`, () => {
      expect(refusal(() => checkName(given))).to.equal(`${type}: ${message}`);
    });
  }

  it('a name may be any 1 to 512 bytes of text', () => {
    for (const name of ['a', '\0', '{}', '🚦'.repeat(128), 'x'.repeat(512), ' ', '%7B']) {
      expect(checkName(name)).to.equal(name);
    }
  });
});
