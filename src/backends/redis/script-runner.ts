import { UnfitServerError } from '../backend.js';
import type { RedisConnection } from './connection.js';
import type { Script } from './compose-script.js';
import { argsFor, scriptFor } from './dialect.js';

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
 * @throws {UnfitServerError} where the server's answer shows that it is none that redsem can use
 */
export async function runScript(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    const { sha1 } = scriptFor(connection, script);
    return await connection.runBySha(sha1, keys, argsFor(connection, args));
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw named(error);
    return runText(connection, script, keys, args);
  }
}

/** EVAL. */
export async function runText(
  connection: RedisConnection,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    const { text } = scriptFor(connection, script);
    return await connection.runByText(text, keys, argsFor(connection, args));
  } catch (error) {
    throw named(error);
  }
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
