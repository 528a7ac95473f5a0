import { withoutCredentials } from './shown.js';

/** Commands with passwords as arguments: `ioredis` puts the command into its errors. */
const LOGIN_COMMAND = /^(?:auth|hello|acl|config)$/i;

const SECRET_FIELD = /pass(?:word|wd|phrase)?$|secret|token|^auth$/i;

/** How many causes of causes are searched. */
const DEEPEST = 8;

/** Errors are shared, for example by all requests that an outage ends. */
const known = new WeakMap<object, unknown>();

/**
 * An error of a client, without credentials, because logs print a cause with all its fields. An
 * error without credentials is given as it is, any other as a copy of the same class.
 */
export function safeCause(cause: unknown): unknown {
  try {
    return clean(cause, 0);
  } catch {
    // A client's error may refuse to be read.
    return new Error('a cause that cannot be read');
  }
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutCredentials(value);
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
  if (!known.has(value)) {
    // A cause may be its own cause.
    known.set(value, value);
    known.set(value, cleanObject(value, depth + 1));
  }
  return known.get(value);
}

function cleanObject(value: object, depth: number): object {
  const proto: unknown = Object.getPrototypeOf(value);
  const isPlain = proto === Object.prototype || proto === null || Array.isArray(value);
  if (!isPlain && !(value instanceof Error)) return value;
  const fields = Object.getOwnPropertyDescriptors(value);
  const isLogin = LOGIN_COMMAND.test(String(fields['name']?.value));
  let isChanged = false;
  for (const [field, { value: own, enumerable = false }] of Object.entries(fields)) {
    // Only the getter of `stack` is called: in newer versions of Node.js `stack` is a getter.
    const before: unknown = field === 'stack' ? Reflect.get(value, field) : own;
    const isSecret = typeof before === 'string' && SECRET_FIELD.test(field);
    const isPassword = isLogin && field === 'args' && Array.isArray(before);
    const after = isSecret ? '***' : isPassword ? before.map(() => '***') : clean(before, depth);
    if (after === before) continue;
    isChanged = true;
    fields[field] = { value: after, enumerable, configurable: true, writable: true };
  }
  if (!isChanged) return value;
  const copy: object = Array.isArray(value) ? [] : value instanceof Error ? new Error() : {};
  Reflect.setPrototypeOf(copy, Reflect.getPrototypeOf(value));
  return Object.defineProperties(copy, fields);
}
