import { LONGEST_NAME } from '../backends/protocol.js';
import { withHelp } from '../error-causes.js';
import { formatValue, withoutCredentials } from './shown.js';

const CODE = 'INVALID_ARGUMENT';

/** For an argument of a wrong type or form. `message`: 'option: expected X, got Y'. */
export function typeError(message: string): TypeError {
  return Object.assign(new TypeError(worded(message)), { code: CODE });
}

/** Refuses an argument of a wrong type or form. */
export function checkType(
  fits: boolean,
  option: string,
  expected: string,
  value: unknown,
): asserts fits {
  if (!fits) throw typeError(`${option}: expected ${expected}, got ${formatValue(value)}`);
}

/** For an argument outside its range. `message`: 'option: expected X, got Y'. */
export function rangeError(message: string): RangeError {
  return Object.assign(new RangeError(worded(message)), { code: CODE });
}

/** Refuses an argument outside its range. `got`: as a message shows it. */
export function checkRange(
  fits: boolean,
  option: string,
  expected: string,
  got: number | string,
): asserts fits {
  if (!fits) throw rangeError(`${option}: expected ${expected}, got ${got}`);
}

function worded(message: string): string {
  return withHelp(CODE, withoutCredentials(message));
}

/** False for an array, which has places in place of names. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const MOST = Number.MAX_SAFE_INTEGER;

export function integer(option: string, value: unknown, min: number, max: number = MOST): number {
  // The text of an error is made only for a wrong value, because every `acquire` comes here.
  const fits = typeof value === 'number' && value >= min && value <= max;
  if (fits && Number.isInteger(value)) return value;
  const range = max === MOST ? `>= ${min}` : `from ${min} to ${max}`;
  checkType(typeof value === 'number', option, 'a number', value);
  throw rangeError(`${option}: expected an integer ${range}, got ${value}`);
}

export function milliseconds(option: string, value: unknown, min: number, max: number): number {
  checkType(typeof value === 'number', option, 'a number', value);
  if (value >= min && value <= max) return value;
  throw rangeError(`${option}: expected ${min} to ${max} ms (30 s is 30_000), got ${value}`);
}

export function text(option: string, value: unknown, min: number, max: number): string {
  checkType(typeof value === 'string', option, 'a string', value);
  // Half of a surrogate pair has no bytes, so two such names would make the same key.
  checkType(value.isWellFormed(), option, 'well-formed Unicode', value);
  const bytes = Buffer.byteLength(value);
  if (bytes >= min && bytes <= max) return value;
  throw rangeError(`${option}: expected ${min} to ${max} bytes, got ${bytes}`);
}

/** A name may have any characters, but two names must never make the same key. */
export function checkName(name: unknown): string {
  return text('name', name, 1, LONGEST_NAME);
}
