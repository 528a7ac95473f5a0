import type { Rate } from '../backends/backend.js';
import { NO_LIMIT } from '../backends/protocol.js';
import type { OptionNames } from './known-options.js';
import { checkOptions } from './known-options.js';
import { integer } from './numbers.js';
import { formatValue } from './shown.js';
import { rangeError, typeError } from './validation.js';

/** The longest period, in milliseconds: 365 days. */
const LONGEST_PERIOD = 31_536_000_000;

/** Grants have their times in microseconds. */
const MOST_A_MILLISECOND = 1000;

const OPTIONS: OptionNames = new Set(['permits', 'per', 'burst']);

/** The option `rate`, or the argument of `setRate`. */
export function resolveRate(given: Partial<Rate>): Rate {
  if (typeof given !== 'object' || given === null) {
    const example = '{ permits: 100, per: 60_000 }';
    throw typeError(`rate: expected an object such as ${example}, got ${formatValue(given)}`);
  }
  checkOptions(given, OPTIONS, 'rate');
  const per = integer('rate.per', given.per, 1, LONGEST_PERIOD);
  const permits = integer('rate.permits', given.permits, 1, per * MOST_A_MILLISECOND);
  const mostBurst = Math.max(1, Math.floor((LONGEST_PERIOD / per) * permits));
  const { burst = 1 } = given;
  integer('rate.burst', burst, 1, mostBurst);
  return Object.freeze({ permits, per, burst });
}

/** With a rate there may be no limit. */
export function checkLimit(option: string, limit: unknown, hasRate: boolean): number {
  if (limit !== Infinity) return integer(option, limit, 1);
  if (hasRate) return NO_LIMIT;
  throw rangeError(
    `${option}: expected an integer >= 1 (Infinity only beside a rate), got Infinity`,
  );
}
