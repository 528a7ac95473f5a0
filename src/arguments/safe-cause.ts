import { withoutCredentials } from './shown.js';

/** Of commands whose arguments are passwords: `ioredis` puts the command into its errors. */
const LOGIN_COMMAND = /^(?:auth|hello|acl|config)$/i;

const SECRET_FIELD = /pass(?:word|wd|phrase)?$|secret|token|^auth$/i;

/** How deep causes are looked into. */
const DEEPEST = 8;

/** Errors are shared: by all requests that one outage ends, for example. */
const known = new WeakMap<object, unknown>();

/**
 * What a client threw, without credentials: logs print a cause with all its fields. It is the thing
 * itself where it has none, else a copy of the same class.
 */
export function safeCause(cause: unknown): unknown {
  try {
    return clean(cause, 0);
  } catch {
    // A client that does not want to be looked at.
    return new Error('a cause that cannot be read');
  }
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutCredentials(value);
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
  if (!known.has(value)) {
    // For causes that go in circles.
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
  const isLogin = LOGIN_COMMAND.test(
    String(Reflect.getOwnPropertyDescriptor(value, 'name')?.value),
  );
  let isChanged = false;
  for (const [field, { value: own, enumerable = false }] of Object.entries(fields)) {
    // No getter is called but that of a stack, which is one in newer versions of Node.js.
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
