import type { Script } from './compose-script.js';
import { linesOf, script } from './compose-script.js';
import type { RedisConnection } from './connection.js';

const inDialects = new Map<Script, Script>();

/**
 * The script as it runs over a connection: behind a prelude where something replaces the server's
 * clock, see `dialect.lua`.
 */
export function scriptFor({ serverClock }: RedisConnection, original: Script): Script {
  return serverClock === undefined ? original : inDialect(original);
}

/** With the time, where something replaces the server's clock. */
export function argsFor(
  { serverClock }: RedisConnection,
  args: readonly string[],
): readonly string[] {
  return serverClock === undefined ? args : [...args, Math.round(serverClock() * 1000).toFixed(0)];
}

function inDialect(original: Script): Script {
  let made = inDialects.get(original);
  if (made === undefined) {
    made = script(original.name, linesOf('dialect'));
    inDialects.set(original, made);
  }
  return made;
}
