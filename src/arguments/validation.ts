import { withHelp } from '../error-causes.js';
import { withoutCredentials } from './shown.js';

const CODE = 'INVALID_ARGUMENT';

/** For an argument of a wrong type or form. `message`: 'option: expected X, got Y'. */
export function typeError(message: string): TypeError {
  return Object.assign(new TypeError(worded(message)), { code: CODE });
}

/** For an argument outside its range. `message`: 'option: expected X, got Y'. */
export function rangeError(message: string): RangeError {
  return Object.assign(new RangeError(worded(message)), { code: CODE });
}

function worded(message: string): string {
  return withHelp(CODE, withoutCredentials(message));
}
