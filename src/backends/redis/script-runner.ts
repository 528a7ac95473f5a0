import { microseconds } from '../gcra.js';
import { UnfitServerError } from '../unfit-server.js';
import { linesOf, type Script, script as composed } from './compose-script.js';
import type { RedisConnection } from './connection.js';

/**
 * The server does not know a command, of a client or of a script; the last is from servers older
 * than Redis 5.
 */
const UNKNOWN = /unknown (?:\w+ )?command|not allowed after non deterministic/i;
const FORBIDDEN = /command is not allowed from script/i;
/** Of a server that lets a script use only the keys that its caller declares. */
const UNDECLARED = /accessing undeclared key/i;
const FLAG = 'start Dragonfly with --default_lua_flags=allow-undeclared-keys';
/** From `time.lua`. */
const NO_TIME = /\bREDSEM_TIME (a \w+|\d+)/;

/**
 * EVALSHA, and on NOSCRIPT alone EVAL: any other error may mean that the script ran. A cluster's
 * nodes have separate caches and a promoted replica has none, so nothing is remembered between
 * calls. See https://redis.io/docs/latest/commands/evalsha/.
 *
 * Not async, and one `then` on the client's own promise: each call passes here.
 * @param byText EVAL at once
 * @throws {UnfitServerError} where the server's answer shows that redsem cannot use it
 */
export function runScript<R>(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  read: (reply: unknown) => R,
  byText = false,
): Promise<R> {
  const { serverClock } = connection;
  const { sha1, text } = serverClock === undefined ? script : inDialect(script);
  const all = serverClock === undefined ? args : [...args, String(microseconds(serverClock()))];
  let sent: Promise<unknown>;
  try {
    sent = byText ? connection.runByText(text, keys, all) : connection.runBySha(sha1, keys, all);
  } catch (error) {
    sent = Promise.reject(error);
  }
  return sent.then(read, (error: unknown) => {
    const isUnknown = error instanceof Error && error.message.startsWith('NOSCRIPT');
    if (byText || !isUnknown) throw named(error);
    return runScript(connection, script, keys, args, read, true);
  });
}

const dialects = new Map<Script, Script>();

/** Behind a prelude, for where something replaces the server's clock: see `dialect.lua`. */
function inDialect(original: Script): Script {
  const made = dialects.get(original) ?? composed(original.name, linesOf('dialect'));
  dialects.set(original, made);
  return made;
}

function named(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  const time = NO_TIME.exec(message)?.[1];
  let what = time && `the time that it gives to scripts is ${time}`;
  if (UNKNOWN.test(message)) what ??= `it does not know a command (${message})`;
  if (FORBIDDEN.test(message)) what ??= `it allows scripts too few commands (${message})`;
  if (UNDECLARED.test(message)) what ??= `scripts get declared keys alone (${message}); ${FLAG}`;
  return what === undefined ? error : new UnfitServerError(what, error);
}
