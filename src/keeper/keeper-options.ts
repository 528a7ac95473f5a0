import type { RedisOptions } from 'ioredis';
import type { RedisClientOptions } from 'redis';
import { checkOptions } from '../arguments/known-options.js';
import { checkType, isObject, milliseconds, typeError } from '../arguments/validation.js';
import { formatValue } from '../arguments/shown.js';
import { describe } from '../error-causes.js';
import { LONGEST_TIMER } from '../time/clock.js';

/** The options of a `Keeper`: exactly one of `ioredis`, `redis` and `module`. */
export interface KeeperOptions {
  /** Options of `new Redis(options)` of ioredis. */
  readonly ioredis?: RedisOptions | undefined;
  /** Options of `createClient(options)` of redis. */
  readonly redis?: RedisClientOptions | undefined;
  /**
   * A module whose default export is a connected client, or a function that gives a client: for a
   * cluster, a sentinel, and options that are functions.
   */
  readonly module?: URL | string | undefined;
  /**
   * For how many milliseconds the event loop may stand still. Then the keeper stops renewing,
   * because a living thread shows a living process, not living work. Default 60 000, minimum 100.
   */
  readonly maxStall?: number | undefined;
}

/** The options as they cross to the keeper's thread. */
export interface ResolvedKeeper extends KeeperOptions {
  readonly maxStall: number;
}

/** @throws {TypeError | RangeError} at once, naming option, expectation and value */
export function resolveKeeper(options: KeeperOptions): ResolvedKeeper {
  checkOptions(options, 'ioredis redis module maxStall', 'options of a Keeper');
  const { ioredis, redis, module, maxStall = 60_000 } = options;
  milliseconds('maxStall', maxStall, 100, LONGEST_TIMER);
  const url = module === undefined ? undefined : String(module);
  const given = Object.entries({ ioredis, redis, module }).filter(([, one]) => one !== undefined);
  const name = given.map(([each]) => each).join(', ');
  if (given.length !== 1) {
    throw typeError(`options: expected one of ioredis, redis and module, got ${name || 'none'}`);
  }
  const value = given[0]?.[1];
  if (url === undefined) checkType(isObject(value), name, 'an object of options', value);
  else checkType(URL.canParse(url), name, 'the URL of a module', value);
  try {
    return structuredClone({ ioredis, redis, module: url, maxStall });
  } catch (error) {
    throw typeError(
      `${name}: expected options that can cross to another thread (no functions, no streams; use module instead, whose default export gives the client), got ${formatValue(value)}: ${describe(error)}`,
    );
  }
}
