import { CallTimeoutError } from './time/call-timeout.js';
import { formatValue, shown, withoutCredentials } from './arguments/shown.js';

/** Which semaphore an error is about. */
export interface ErrorSubject {
  /** Its name, or that of a keyed mutex. */
  readonly name: string;
  /** Start of its keys; without it a message cannot name them. */
  readonly prefix?: string;
}

/** The text that `withHelp` adds. Of nested errors only the outermost keeps it. */
const HELP = /; see: npx redsem help \w+$/;

/** The most characters of a cause that a message repeats. */
const LONGEST_CAUSE = 1000;

/**
 * Ends a message with the command that explains its code. The page that the command shows is in the
 * package.
 */
export function withHelp(code: string, message: string): string {
  return `${message}; see: npx redsem help ${code}`;
}

/** An error's text for the message of another error, without credentials. */
export function describe(cause: unknown): string {
  if (typeof cause === 'string') return withoutCredentials(cause);
  if (!(cause instanceof Error)) return formatValue(cause);
  if (cause.message !== '') {
    // A cluster client of ioredis has here the errors of its nodes.
    const ofNode: unknown = Reflect.get(cause, 'lastNodeError');
    if (ofNode instanceof Error) return `${cause.message.replace(/\.$/, '')}: ${describe(ofNode)}`;
    return shown(cause.message.replace(HELP, ''), LONGEST_CAUSE);
  }
  return cause instanceof AggregateError ? cause.errors.map(describe).join('; ') : cause.name;
}

/** After that many milliseconds without a reply, the message says that Redis cannot be reached. */
const LONG_SILENCE_MS = 1000;

/** No connection, or no reply for long. */
export function isUnreachable(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  if (cause instanceof CallTimeoutError) return cause.silentMs >= LONG_SILENCE_MS;
  return UNREACHABLE.test(`${describe(cause)} ${String(Reflect.get(cause, 'code'))}`);
}

const UNREACHABLE =
  /ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|socket|connection is closed|max retries per request/i;

/** Advice for an error of the server; empty for an unknown error. */
export function advice(cause: unknown, subject: ErrorSubject | undefined): string {
  const text = describe(cause);
  if (NO_RIGHT.test(text)) return `; ${grantFor(text, subject?.prefix)}`;
  if (/\bWRONGTYPE\b/.test(text)) {
    return `; another program has written to ${keysOf(subject)}: delete that key, or use another prefix`;
  }
  return ADVICE.find(([pattern]) => pattern.test(text))?.[1] ?? '';
}

const ADVICE: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/\bOOM\b/, '; raise maxmemory, and keep maxmemory-policy noeviction'],
  [/\bWRONGPASS\b/, "; check the client's username and password: without a username it is default"],
  // Redis gives the second error to a long command of a client that has not logged in.
  [
    /\bNOAUTH\b|unauthenticated (?:multi)?bulk/,
    '; the server wants a password: give the client one, and a username unless it is default',
  ],
  [/The client is closed/, '; call `await client.connect()` first, and close the client last'],
  [
    /in subscriber mode/i,
    '; a client that subscribes can send no other commands: pass another one, such as client.duplicate()',
  ],
];

/** Redis 6.2 gives the last two errors for a command in a script. */
const NO_RIGHT =
  /\bNOPERM\b|\bACL failure\b|can't run this command|can't access at least one of the keys/;

/**
 * The reply of Redis names the refused command, and since Redis 7 also the user. It names no key
 * and no channel.
 */
function grantFor(text: string, prefix = 'PREFIX'): string {
  const command = /'([^']+)' command/.exec(text)?.[1];
  const channels = /\bchannels?\b/.test(text) ? `'&${prefix}:*'` : undefined;
  const keys = /\bkeys?\b/.test(text) ? `'~${prefix}:*'` : undefined;
  const right = command === undefined ? (channels ?? keys) : `+${command.toLowerCase()}`;
  if (right === undefined) return 'grant the user the missing right: ACL LOG names it';
  const user = /\bUser (\S+) has no permissions/.exec(text)?.[1] ?? 'USER';
  return `grant it with ACL SETUSER ${user} ${right}`;
}

/**
 * A pattern of the semaphore's keys, because the reply of Redis does not name the key. Braces are
 * escaped as in keys.
 */
function keysOf(subject: ErrorSubject | undefined): string {
  if (subject?.prefix === undefined) return 'a key of this semaphore';
  const tag = subject.name.replace(/[{}%]/g, encodeURIComponent);
  return `one of ${JSON.stringify(`${subject.prefix}:{${tag}}:*`)}`;
}
