import { inspect } from 'node:util';

const HIDDEN = '***';

/**
 * The part of a URL before its last `@`: a password may contain any other character, also
 * unescaped. The second form is a URL that is percent-encoded as a whole, once or more often.
 */
const LOGIN = /((?:[a-z][a-z\d+.-]{0,30}:)?\/\/)\S*@/gi;
const ENCODED_LOGIN = /(%(?:25)*3a(?:%(?:25)*2f){2})\S*%(?:25)*40/gi;

/** `?password=…`, which clients also accept. */
const SECRET_PARAMETER = /([?&][\w-]*(?:pass|password|passwd|secret|token|auth)=)[^&#\s]*/gi;

/** A URL without its scheme. */
const BARE_LOGIN = /[^\s/]*:\S*@/g;

/** A text without the credentials of the URLs in it. */
export function withoutCredentials(text: string): string {
  if (!/[@?&]|%(?:25)*40/.test(text)) return text;
  return text
    .replace(LOGIN, `$1${HIDDEN}@`)
    .replace(ENCODED_LOGIN, `$1${HIDDEN}%40`)
    .replace(SECRET_PARAMETER, `$1${HIDDEN}`);
}

/** The most characters that a message shows of a value. */
const MOST_SHOWN = 100;

/** A text that a user gave, as a message shows it: without credentials, and not too long. */
export function shown(text: string, most: number = MOST_SHOWN): string {
  const safe = withoutCredentials(text);
  return safe.length <= most ? safe : `${safe.slice(0, most - 1).toWellFormed()}…`;
}

/** The same, in quotes. */
export function quoted(text: string, most: number = MOST_SHOWN): string {
  const whole = JSON.stringify(withoutCredentials(text));
  return whole.length <= most ? whole : `${whole.slice(0, most - 2).toWellFormed()}…"`;
}

/**
 * A refused value as an error message shows it, with its type: 100 characters at most, without
 * credentials. It does not show the contents of an object, which may be a password.
 */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') {
    // Logins with a scheme are left to `withoutCredentials`.
    const hide = (login: string): string => (login.includes('//') ? login : `${HIDDEN}@`);
    const type = ' (string)';
    return quoted(value.replace(BARE_LOGIN, hide), MOST_SHOWN - type.length) + type;
  }
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'object' || typeof value === 'function') return kindOf(value);
  const type = ` (${typeof value})`;
  return shown(inspect(value), MOST_SHOWN - type.length) + type;
}

/** `class Redis`, `function connect`, `an object of class Redis`. */
function kindOf(value: object): string {
  if (Array.isArray(value)) return 'an array';
  const isFunction = typeof value === 'function';
  const named: unknown = isFunction ? value : Reflect.get(value, 'constructor');
  const name: unknown = typeof named === 'function' ? named.name : '';
  const isNamed = typeof name === 'string' && name !== '';
  if (!isFunction)
    return isNamed && name !== 'Object' ? shown(`an object of class ${name}`) : 'an object';
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function';
  return isNamed ? shown(`${kind} ${name}`) : `a ${kind} without a name`;
}

/** Commands with passwords as arguments: `ioredis` puts the command into its errors. */
const LOGIN_COMMAND = /^(?:auth|hello|acl|config)$/i;

const SECRET_FIELD = /pass(?:word|wd|phrase)?$|secret|token|^auth$/i;

/** How many causes of causes are searched. */
const DEEPEST = 8;

/** Errors are shared, for example by all requests that an outage ends. */
const cleaned = new WeakMap<object, unknown>();

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
  if (!cleaned.has(value)) {
    // A cause may be its own cause.
    cleaned.set(value, value);
    cleaned.set(value, cleanObject(value, depth + 1));
  }
  return cleaned.get(value);
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
    const after = isSecret ? HIDDEN : isPassword ? before.map(() => HIDDEN) : clean(before, depth);
    if (after === before) continue;
    isChanged = true;
    fields[field] = { value: after, enumerable, configurable: true, writable: true };
  }
  if (!isChanged) return value;
  const copy: object = Array.isArray(value) ? [] : value instanceof Error ? new Error() : {};
  Reflect.setPrototypeOf(copy, Reflect.getPrototypeOf(value));
  return Object.defineProperties(copy, fields);
}
