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
  const changed = new Map<string, unknown>();
  for (const field of Object.getOwnPropertyNames(value)) {
    const before = valueOf(value, field);
    const after = cleanField(value, field, before, depth);
    if (after !== before) changed.set(field, after);
  }
  return changed.size === 0 ? value : copied(value, changed);
}

function cleanField(owner: object, field: string, before: unknown, depth: number): unknown {
  if (typeof before === 'string' && SECRET_FIELD.test(field)) return '***';
  const name = valueOf(owner, 'name');
  const isLogin = typeof name === 'string' && LOGIN_COMMAND.test(name);
  if (field === 'args' && isLogin && Array.isArray(before)) return before.map(() => '***');
  return clean(before, depth);
}

/** No getter is called but that of a stack, which is one in newer versions of Node.js. */
function valueOf(owner: object, field: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(owner, field);
  return field === 'stack' ? Reflect.get(owner, field) : descriptor?.value;
}

function copied(value: object, changed: ReadonlyMap<string, unknown>): object {
  const copy: object = Array.isArray(value) ? [] : value instanceof Error ? new Error() : {};
  Reflect.setPrototypeOf(copy, Reflect.getPrototypeOf(value));
  Object.defineProperties(copy, Object.getOwnPropertyDescriptors(value));
  for (const [field, after] of changed) {
    const enumerable = Object.prototype.propertyIsEnumerable.call(value, field);
    const settings = { enumerable, configurable: true, writable: true };
    Object.defineProperty(copy, field, { value: after, ...settings });
  }
  return copy;
}
