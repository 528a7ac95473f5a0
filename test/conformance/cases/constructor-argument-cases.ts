import { Semaphore } from '../../../src/index.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal, thrownBy } from '../bad-argument.js';
import type { CaseGroup, Run } from '../case-group.js';

const BAD_OPTIONS: Record<string, readonly BadValue[]> = {
  limit: [
    [undefined, TypeError, 'undefined'],
    [null, TypeError, 'null'],
    ['5', TypeError, '"5"'],
    [5n, TypeError, '5n'],
    [[5], TypeError, 'an array'],
    [0, RangeError, '0'],
    [-1, RangeError, '-1'],
    [1.5, RangeError, '1.5'],
    [NaN, RangeError, 'NaN'],
    [Infinity, RangeError, 'Infinity'],
    [2 ** 53, RangeError, '9007199254740992'],
  ],
  ttl: [
    ['1000', TypeError, '"1000"'],
    [99, RangeError, '99'],
    [99.9, RangeError, '99.9'],
    [0, RangeError, '0'],
    [-1, RangeError, '-1'],
    [NaN, RangeError, 'NaN'],
    [Infinity, RangeError, 'Infinity'],
    [2 ** 31, RangeError, '2147483648'],
  ],
  extendEvery: [
    ['100', TypeError, '"100"'],
    [-1, RangeError, '-1'],
    [NaN, RangeError, 'NaN'],
    [Infinity, RangeError, 'Infinity'],
    [15_001, RangeError, '15001'],
  ],
  retry: [
    [5, TypeError, '5'],
    ['10', TypeError, '"10"'],
  ],
  prefix: [
    [5, TypeError, '5'],
    ['', RangeError, '0'],
    ['a{b', TypeError, '"a{b"'],
    ['a}b', TypeError, '"a}b"'],
    ['a\ud800', TypeError, '"a\\ud800"'],
    ['x'.repeat(129), RangeError, '129'],
  ],
  label: [
    [5, TypeError, '5'],
    ['a\udc00', TypeError, '"a\\udc00"'],
    ['x'.repeat(257), RangeError, '257'],
  ],
  clock: [
    [5, TypeError, '5'],
    [{}, TypeError, 'an object'],
  ],
};

const BAD_RETRIES: Record<string, readonly BadValue[]> = {
  min: [
    ['10', TypeError, '"10"'],
    [0, RangeError, '0'],
    [-1, RangeError, '-1'],
    [NaN, RangeError, 'NaN'],
  ],
  max: [
    ['10', TypeError, '"10"'],
    [9, RangeError, '9'],
    [Infinity, RangeError, 'Infinity'],
  ],
  factor: [
    ['2', TypeError, '"2"'],
    [0.5, RangeError, '0.5'],
    [NaN, RangeError, 'NaN'],
  ],
  jitter: [[1, TypeError, '1']],
};

const BAD_NAMES: readonly BadValue[] = [
  [undefined, TypeError, 'undefined'],
  [null, TypeError, 'null'],
  [5, TypeError, '5'],
  ['', RangeError, '0'],
  ['x'.repeat(513), RangeError, '513'],
  ['x'.repeat(1000), RangeError, '1000'],
  ['\u{1F600}'.repeat(129), RangeError, '516'],
  ['a\ud800', TypeError, '"a\\ud800"'],
  ['\udc00a', TypeError, '"\\udc00a"'],
];

const BAD_TARGETS: readonly BadValue[] = [
  [undefined, TypeError, 'undefined'],
  [null, TypeError, 'null'],
  ['redis://127.0.0.1', TypeError, 'redis://127.0.0.1'],
  [{}, TypeError, 'object'],
  [{ eval: 1, evalsha: 2 }, TypeError, 'object'],
  [{ runBySha: () => {} }, TypeError, 'object'],
  [new Map(), TypeError, 'object'],
];

const BAD_WHOLES: readonly BadValue[] = [
  [undefined, TypeError, 'undefined'],
  [null, TypeError, 'null'],
  [5, TypeError, '5'],
];

type Make = (value: unknown, target: Semaphore | object, name: string) => unknown;

function refusing(option: string, bads: readonly BadValue[], make: Make): [string, Run] {
  return [
    `refuses every bad ${option}`,
    ({ target, name }) => {
      for (const bad of bads) {
        expectRefusal(
          thrownBy(() => make(bad[0], target, name)),
          option,
          bad,
        );
      }
    },
  ];
}

function withChange(target: object, name: string, change: object): Semaphore {
  return new Semaphore(target as never, name, { limit: 1, ...change });
}

/** The first line of the failure table. [M 14, M 32, M 34, RS 1, RS 2, SG, O 3] */
export const constructorArgumentCases: CaseGroup = {
  title: 'bad arguments of the constructor',
  cases: Object.fromEntries([
    refusing('target', BAD_TARGETS, (value, _, name) => withChange(value as never, name, {})),
    refusing('name', BAD_NAMES, (value, target) => withChange(target, value as string, {})),
    refusing(
      'options',
      BAD_WHOLES,
      (value, target, name) => new Semaphore(target as never, name, value as never),
    ),
    ...Object.entries(BAD_OPTIONS).map(([option, bads]) =>
      refusing(option, bads, (value, target, name) =>
        withChange(target, name, { [option]: value }),
      ),
    ),
    ...Object.entries(BAD_RETRIES).map(([option, bads]) =>
      refusing(`retry.${option}`, bads, (value, target, name) =>
        withChange(target, name, { retry: { [option]: value } }),
      ),
    ),
  ]),
};
