import { expect } from 'chai';

import type { Semaphore } from '../../../src/index.js';
import type { BadValue } from '../bad-argument.js';
import { expectRefusal } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { reasonOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const BAD_TIMEOUTS: readonly BadValue[] = [
  ['5', TypeError, '"5"'],
  [-1, RangeError, '-1'],
  [-2000, RangeError, '-2000'],
  [NaN, RangeError, 'NaN'],
  [-Infinity, RangeError, '-Infinity'],
  [2 ** 53, RangeError, '9007199254740992'],
];

const BAD_SIGNALS: readonly BadValue[] = [
  [null, TypeError, 'null'],
  ['abort', TypeError, '"abort"'],
  [{ aborted: false }, TypeError, 'an object'],
  [new AbortController(), TypeError, 'an object'],
];

const BAD_PERMITS: readonly BadValue[] = [
  ['1', TypeError, '"1"'],
  [0, RangeError, '0'],
  [-1, RangeError, '-1'],
  [1.5, RangeError, '1.5'],
  [NaN, RangeError, 'NaN'],
  [4, RangeError, '4'],
  [2 ** 24 + 1, RangeError, '16777217'],
];

type Call = (semaphore: Semaphore, value: never) => Promise<unknown>;

/** Each is refused by a rejection, never by a throw, and takes nothing. */
async function expectRefused(
  scope: Scope,
  option: string,
  bads: readonly BadValue[],
  calls: readonly Call[],
): Promise<void> {
  const semaphore = scope.semaphore({ limit: 3 });
  for (const bad of bads) {
    for (const call of calls) {
      expectRefusal(await reasonOf(call(semaphore, bad[0] as never)), option, bad);
    }
  }
  expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
}

const nothing = (): void => {};

/** [M 8, M 12, RS 2, AM] */
export const acquireArgumentCases: CaseGroup = {
  title: 'bad arguments of calls',
  cases: {
    'refuses every bad timeout': (scope) =>
      expectRefused(scope, 'timeout', BAD_TIMEOUTS, [
        (semaphore, timeout) => semaphore.acquire(timeout),
        (semaphore, timeout) => semaphore.acquire({ timeout }),
        (semaphore, timeout) => semaphore.use(nothing, timeout),
        (semaphore, timeout) => semaphore.use(nothing, { timeout }),
      ]),

    'refuses what is not an AbortSignal': (scope) =>
      expectRefused(scope, 'signal', BAD_SIGNALS, [
        (semaphore, signal) => semaphore.acquire({ signal }),
        (semaphore, signal) => semaphore.use(nothing, { signal }),
      ]),

    'refuses every bad number of permits, more than the limit included': (scope) =>
      expectRefused(scope, 'permits', BAD_PERMITS, [
        (semaphore, permits) => semaphore.acquire({ permits }),
        (semaphore, permits) => semaphore.tryAcquire({ permits }),
        (semaphore, permits) => semaphore.use(nothing, { permits }),
      ]),

    'refuses a `use` of what is no function before a permit is taken': async (scope) => {
      const semaphore = scope.semaphore();
      const reason = await reasonOf(semaphore.use(5 as never));
      expectRefusal(reason, 'fn', [5, TypeError, '5']);
    },
  },
};
