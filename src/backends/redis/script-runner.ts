import { UnfitServerError } from '../backend.js';
import type { Script } from './compose-script.js';
import { linesOf, script as composed } from './compose-script.js';
import type { RedisConnection } from './connection.js';

/**
 * The server does not know a command, of a client or of a script; the last is from servers older
 * than Redis 5.
 */
const UNKNOWN = /unknown (?:\w+ )?command|not allowed after non deterministic/i;
const FORBIDDEN = /command is not allowed from script/i;
/** From `time.lua`. */
const NO_TIME = /\bREDSEM_TIME (a \w+|\d+)/;

/**
 * EVALSHA, and on NOSCRIPT alone EVAL: any other error may mean that the script ran. A cluster's
 * nodes have separate caches and a promoted replica has none, so nothing is remembered between
 * calls. See https://redis.io/docs/latest/commands/evalsha/.
 *
 * Not async, and one `then` on the client's own promise: each call passes here.
 * @throws {UnfitServerError} where the server's answer shows that redsem cannot use it
 */
export function runScript<R>(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  read: (reply: unknown) => R,
): Promise<R> {
  let sent: Promise<unknown>;
  try {
    const { sha1 } = scriptFor(connection, script);
    sent = connection.runBySha(sha1, keys, argsFor(connection, args));
  } catch (error) {
    sent = Promise.reject(error);
  }
  return sent.then(read, (error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw named(error);
    return runText(connection, script, keys, args, read);
  });
}

/** EVAL. */
export function runText<R>(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  read: (reply: unknown) => R,
): Promise<R> {
  const { text } = scriptFor(connection, script);
  const sent = (async () => connection.runByText(text, keys, argsFor(connection, args)))();
  return sent.then(read, (error: unknown) => {
    throw named(error);
  });
}

const inDialect = new Map<Script, Script>();

/** Behind a prelude where something replaces the server's clock, see `dialect.lua`. */
function scriptFor({ serverClock }: RedisConnection, original: Script): Script {
  if (serverClock === undefined) return original;
  const made = inDialect.get(original) ?? composed(original.name, linesOf('dialect'));
  inDialect.set(original, made);
  return made;
}

/** With the time, where something replaces the server's clock. */
function argsFor({ serverClock }: RedisConnection, args: readonly string[]): readonly string[] {
  return serverClock === undefined ? args : [...args, Math.round(serverClock() * 1000).toFixed(0)];
}

function named(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  const time = NO_TIME.exec(message)?.[1];
  if (time !== undefined) {
    return new UnfitServerError(`the time that it gives to scripts is ${time}`, error);
  }
  if (UNKNOWN.test(message))
    return new UnfitServerError(`it does not know a command (${message})`, error);
  if (!FORBIDDEN.test(message)) return error;
  return new UnfitServerError(`it allows scripts too few commands (${message})`, error);
}
