import type { RedisOptions } from 'ioredis';
import type { RedisClientOptions } from 'redis';
import type { OptionNames } from '../arguments/known-options.js';
import { checkOptions } from '../arguments/known-options.js';
import { milliseconds } from '../arguments/numbers.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';
import { describe } from '../error-causes.js';
import { LONGEST_TIMER } from '../time/clock.js';

const OPTIONS: OptionNames = new Set(['ioredis', 'redis', 'module', 'maxStall']);

/** The options of a `Keeper`: exactly one of the first three. */
export interface KeeperOptions {
  /** Options of `new Redis(options)` of ioredis. */
  readonly ioredis?: RedisOptions | undefined;
  /** Options of `createClient(options)` of redis. */
  readonly redis?: RedisClientOptions | undefined;
  /**
   * A module whose default export is, or gives, a connected client: for a cluster, a sentinel, and
   * options that are functions.
   */
  readonly module?: URL | string | undefined;
  /**
   * For how many milliseconds the event loop may stand still before its permits are given up: a
   * living thread shows a living process, not living work. Default 60 000, minimum 100.
   */
  readonly maxStall?: number | undefined;
}

/** How the keeper's thread gets its client. */
export type ClientSource = Omit<KeeperOptions, 'maxStall'>;

/** @throws {TypeError | RangeError} at once, naming option, expectation and value */
export function resolveKeeper(options: KeeperOptions): {
  readonly source: ClientSource;
  readonly maxStall: number;
} {
  checkOptions(options, OPTIONS, 'options of a Keeper');
  const { ioredis, redis, module, maxStall = 60_000 } = options;
  milliseconds('maxStall', maxStall, 100, LONGEST_TIMER);
  const given = Object.entries({ ioredis, redis, module }).filter(
    ([, value]) => value !== undefined,
  );
  if (given.length !== 1) {
    const names = given.map(([name]) => name).join(', ') || 'none';
    throw typeError(`options: expected one of ioredis, redis and module, got ${names}`);
  }
  if (module !== undefined) return { source: { module: checkModule(module) }, maxStall };
  for (const [name, value] of given) checkCloneable(name, value);
  return { source: { ioredis, redis }, maxStall };
}

function checkModule(module: unknown): string {
  if (module instanceof URL) return module.href;
  if (typeof module === 'string' && module !== '') return module;
  throw typeError(`module: expected the URL of a module, got ${formatValue(module)}`);
}

function checkCloneable(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    throw typeError(`${name}: expected an object of options, got ${formatValue(value)}`);
  }
  try {
    structuredClone(value);
  } catch (error) {
    throw typeError(
      `${name}: expected options that can cross to another thread (no functions, no streams; use module instead, whose default export gives the client), got ${formatValue(value)}: ${describe(error)}`,
    );
  }
}
