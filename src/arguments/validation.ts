import { inspect } from 'node:util';
import { withDocs } from '../error-causes.js';

const CODE = 'INVALID_ARGUMENT';

/** A refused value as an error message shows it, with its type. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(value)} (string)`;
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : 'an object';
  }
  return value === null || value === undefined
    ? String(value)
    : `${inspect(value)} (${typeof value})`;
}

/** For an argument of a wrong type or form. `message`: 'option: expected X, got Y'. */
export function typeError(message: string): TypeError {
  return Object.assign(new TypeError(withDocs(CODE, message)), { code: CODE });
}

/** For an argument outside its range. `message`: 'option: expected X, got Y'. */
export function rangeError(message: string): RangeError {
  return Object.assign(new RangeError(withDocs(CODE, message)), { code: CODE });
}
