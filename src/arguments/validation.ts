import { withHelp } from '../error-causes.js';
import { withoutCredentials } from './credentials.js';
import { formatValue } from './shown.js';

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

function worded(message: string): string {
  return withHelp(CODE, withoutCredentials(message));
}
