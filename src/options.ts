import { hostname } from 'node:os';
import type * as port from './backends/backend.js';
import type { LeaseKeeper } from './backends/lease-keeper.js';
import { LONGEST_NAME, MOST_PERMITS, NO_LIMIT } from './backends/protocol.js';
import type { BackoffOptions } from './time/backoff.js';
import { type Clock, LONGEST_TIMER, systemClock } from './time/clock.js';
import {
  type BudgetOptions,
  byBudget,
  LONGEST_PERIOD,
  resolveBudget,
  resolveCosts,
} from './arguments/budgets.js';
import {
  ACQUIRE_OPTIONS,
  checkOptions,
  type OptionNames,
  optionNames,
  SEMAPHORE_OPTIONS,
} from './arguments/known-options.js';
import { integer, milliseconds, number } from './arguments/numbers.js';
import { withoutCredentials } from './arguments/credentials.js';
import { checkType, rangeError } from './arguments/validation.js';

/** The options of a `Semaphore`. */
export interface SemaphoreOptions {
  /**
   * How many permits there are: an integer, minimum 1. With a `rate` also Infinity, which counts as
   * 2^53 - 1.
   */
  readonly limit: number;
  /**
   * How long a ticket, the record of a permit, lives without an extension, in milliseconds. Default
   * 30 000, minimum 100, maximum 2 147 483 647.
   */
  readonly ttl?: number | undefined;
  /**
   * How often redsem extends held tickets, in milliseconds. Default `ttl / 3`, maximum `ttl / 2`;
   * 0 = never.
   */
  readonly extendEvery?: number | undefined;
  /**
   * Pauses between polls while a request waits, and before redsem retries a failed extension or
   * release, in milliseconds. Default `{ min: 10, max: 200, factor: 2, jitter: true }`.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * Start of every key and channel. Default `redsem`; no braces, because they would change a
   * cluster's hash tag.
   */
  readonly prefix?: string | undefined;
  /**
   * How `inspect` names this process as a holder or waiter: at most 256 bytes. Default `host:pid`.
   */
  readonly label?: string | undefined;
  /**
   * Only for a server with replicas. A grant counts only if `atLeast` replicas (minimum 1)
   * acknowledge it within `timeout` milliseconds (default 1000, minimum 1); else redsem gives the
   * permit back and tries again. A failover is then less likely to forget a permit, but still may:
   * https://redis.io/docs/latest/commands/wait/. Default: redsem waits for no replica.
   */
  readonly replicas?: ReplicaOptions | undefined;
  /**
   * How many requests of all processes may wait. A further `acquire` rejects with a
   * `QueueFullError`, in one round trip. An integer, minimum 0: no request waits. Not on several
   * masters. Default: any number.
   */
  readonly maxWaiting?: number | undefined;
  /**
   * How many permits may be granted in a period, in addition to the limit. Give the same rate
   * wherever the semaphore is used. A rate that `setRate` stored replaces it. Not on several
   * masters. Default: any number.
   */
  readonly rate?: RateOptions | undefined;
  /**
   * Up to 4 budgets by name: how many units of `cost` may be granted in a period, in addition to
   * the rate. A request is granted when every budget allows its cost. Give the same budgets
   * wherever the semaphore is used. A budget that `setBudget` stored replaces them. Not on several
   * masters. Default: none.
   */
  readonly budgets?: Readonly<Record<string, BudgetOptions>> | undefined;
  /**
   * How many permits each group may hold at once: an integer, minimum 1. Redis skips a group that
   * holds that number, until a permit of the group comes back. Requests without a group count as a
   * single group. Give the same number wherever the semaphore is used. A number that
   * `setGroupLimit` stored replaces it. Not on several masters. Default: any number.
   */
  readonly groupLimit?: number | undefined;
  /**
   * Renews permits in a separate thread, so that they outlive a blocked event loop: a `Keeper` of
   * `redsem/keeper`. Not on several masters, in memory, or with a `clock`. Default: none.
   */
  readonly keeper?: LeaseKeeper | undefined;
  /** For tests. Default: the backend's own clock if it has one, else the process's. */
  readonly clock?: Clock | undefined;
}

/** The option `retry`. */
export type RetryOptions = {
  readonly [Name in keyof BackoffOptions]?: BackoffOptions[Name] | undefined;
};

/** The options of `acquire` and `use`. */
export interface AcquireOptions {
  /** Milliseconds to wait at most. Default: no limit; 0 makes one try. */
  readonly timeout?: number | undefined;
  /** Ends the wait, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How many permits to take at once, 1 to the limit, and 16 777 216 at most. Default 1. */
  readonly permits?: number | undefined;
  /**
   * The tenant of the request, 1 to 128 bytes. Among requests that wait with the same priority,
   * each group gets permits in proportion to its weight, however many requests it has. The order is
   * self-clocked fair queueing (Golestani, 1994). Not on several masters. Default: the group of all
   * requests that name no group.
   */
  readonly group?: string | undefined;
  /** The share of the group: an integer, 1 to 1000, default 1. Only with `group`. */
  readonly weight?: number | undefined;
  /**
   * An integer, 0 to 9, default 0. Requests of a higher priority come first, so requests of a lower
   * priority can starve. Not on several masters.
   */
  readonly priority?: number | undefined;
  /**
   * The units that Redis charges each budget for the request, by name: integers, minimum 0.
   * `release({ spent })` settles the difference. Not on several masters. Default: nothing.
   */
  readonly cost?: Readonly<Record<string, number>> | undefined;
  /**
   * Called when the request is queued, and later when its position or the number of waiters has
   * changed, at most once a second. redsem makes no call to Redis for it: it reads the replies to
   * its polls, about every 1.5 s. If the function throws or rejects while the request waits, the
   * wait ends with that error. Not on several masters. Default: none.
   */
  readonly onWaiting?: ((report: WaitingReport) => void | Promise<void>) | undefined;
}

/** The argument of `onWaiting`. */
export interface WaitingReport extends port.QueueProgress {
  /**
   * How many permits of the semaphore this process holds itself, through the same client. Above 0,
   * a holder may be waiting for itself.
   */
  readonly heldHere: number;
}

/** The options of `acquire`, without `permits`. */
export type WaitOptions = Omit<AcquireOptions, 'permits'>;

/**
 * The options of a call for permits of several semaphores. Each semaphore has its own queue, so
 * options of a queue are missing.
 */
export type DeadlineOptions = Pick<AcquireOptions, 'timeout' | 'signal'>;

/** The options of `tryAcquire` and `tryUse`. */
export type TryAcquireOptions = Pick<AcquireOptions, 'permits' | 'group' | 'cost'>;

/** The options of `close`. */
export interface CloseOptions {
  /**
   * Milliseconds for which holders keep their permits, extended as before, until they release them.
   * Default 0, maximum 2 147 483 647.
   */
  readonly drain?: number | undefined;
}

/** The option `replicas`. */
export interface ReplicaOptions {
  /** How many replicas must have a permit: an integer, minimum 1. */
  readonly atLeast: number;
  /** Milliseconds to wait for them. Default 1000, minimum 1, maximum 2 147 483 647. */
  readonly timeout?: number | undefined;
}

/**
 * The option `rate`, kept by the generic cell rate algorithm (https://brandur.org/rate-limiting).
 * By the server's clock, no period of `per` milliseconds, wherever it begins, has more than
 * `permits + burst - 1` grants. A request for more permits than the burst is granted when the whole
 * burst is there again, and counts in full.
 */
export interface RateOptions {
  /**
   * How many permits may be granted in a period: an integer, 1 to 1000 for each millisecond of
   * `per`.
   */
  readonly permits: number;
  /** The period in milliseconds: an integer, 1 to 31 536 000 000 (365 days). */
  readonly per: number;
  /**
   * How many permits may be granted at once after a pause: an integer, minimum 1, at most the
   * grants of 365 days. Default 1: one permit every `per / permits` milliseconds.
   */
  readonly burst?: number | undefined;
}

/** Options with a value for each. */
type Given<Options> = { readonly [Name in keyof Options]-?: NonNullable<Options[Name]> };

/** `SemaphoreOptions` checked and with defaults. */
export interface ResolvedOptions
  extends
    Given<Pick<SemaphoreOptions, 'limit' | 'ttl' | 'extendEvery' | 'prefix' | 'label' | 'clock'>>,
    Pick<SemaphoreOptions, 'maxWaiting' | 'groupLimit' | 'keeper'> {
  readonly retry: BackoffOptions;
  readonly replicas: port.ReplicaRequirement | undefined;
  readonly rate: port.Rate | undefined;
  readonly budgets: port.Budgets | undefined;
}

/** What a request asks for. */
export interface ResolvedTry {
  readonly permits: number;
  /** Undefined: priority 0, no group. */
  readonly order: port.RequestOrder | undefined;
  readonly cost: port.Costs | undefined;
}

export interface ResolvedAcquire
  extends ResolvedTry, Required<Pick<AcquireOptions, 'signal' | 'onWaiting'>> {
  /** Infinity: no limit. */
  readonly timeout: number;
}

const DEFAULT_TTL = 30_000;
const MINIMUM_TTL = 100;
/** In bytes. */
const LONGEST_GROUP = 128;

/** The scripts count the times of grants in microseconds. */
const MOST_A_MILLISECOND = 1000;

const RATE_EXPECTED = 'an object such as { permits: 100, per: 60_000 }';
const TRY_OPTIONS = optionNames('permits group cost');

/** `known`: the options that the constructor takes. */
export function resolveOptions(
  options: SemaphoreOptions,
  backendClock?: Clock,
  known: OptionNames = SEMAPHORE_OPTIONS,
): ResolvedOptions {
  const hint = typeof options === 'number' ? `, as in { limit: ${String(options)} }` : '';
  checkOptions(options, known, 'options', `an object with a limit${hint}`);
  const { ttl = DEFAULT_TTL, label = `${hostname()}:${process.pid}`, retry = {} } = options;
  const { maxWaiting, clock = backendClock ?? systemClock } = options;
  const rate = options.rate === undefined ? undefined : resolveRate(options.rate);
  const limit = checkLimit('limit', options.limit, rate !== undefined);
  milliseconds('ttl', ttl, MINIMUM_TTL, LONGEST_TIMER);
  const { keeper } = options;
  const isKeeper = keeper === undefined || typeof keeper?.open === 'function';
  checkType(isKeeper, 'keeper', 'a Keeper of redsem/keeper', keeper);
  const { extendEvery = ttl / 3 } = options;
  return Object.freeze({
    limit,
    ttl,
    extendEvery: milliseconds('extendEvery', extendEvery, 0, ttl / 2),
    retry: resolveRetry(retry),
    prefix: checkPrefix(options.prefix),
    label: withoutCredentials(text('label', label, 0, 256)),
    replicas: resolveReplicas(options.replicas),
    maxWaiting: maxWaiting === undefined ? undefined : integer('maxWaiting', maxWaiting, 0),
    rate,
    budgets: options.budgets && byBudget('budgets', options.budgets, resolveBudget),
    groupLimit: resolveGroupLimit(options.groupLimit),
    clock: checkClock(clock),
    keeper,
  });
}

export function resolveGroupLimit(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : integer('groupLimit', limit, 1);
}

function resolveReplicas(given: ReplicaOptions | undefined): port.ReplicaRequirement | undefined {
  if (given === undefined) return undefined;
  checkOptions(given, 'atLeast timeout', 'replicas', 'an object with atLeast');
  const { timeout = 1000 } = given;
  return {
    atLeast: integer('replicas.atLeast', given.atLeast, 1),
    timeout: milliseconds('replicas.timeout', timeout, 1, LONGEST_TIMER),
  };
}

/** `known`: the options that the call takes. `budgets`: the names that a cost may have. */
export function resolveAcquire(
  given: number | AcquireOptions = {},
  known: OptionNames = ACQUIRE_OPTIONS,
  budgets?: port.Budgets,
): ResolvedAcquire {
  const options: AcquireOptions = typeof given === 'number' ? { timeout: given } : given;
  const isObject = typeof options === 'object' && options !== null;
  checkType(isObject, 'timeout', 'a number of milliseconds or an options object', given);
  checkOptions(options, known);
  const { timeout = Infinity, permits, signal, onWaiting } = options;
  if (timeout !== Infinity) milliseconds('timeout', timeout, 0, Number.MAX_SAFE_INTEGER);
  const isSignal = signal === undefined || signal instanceof AbortSignal;
  checkType(isSignal, 'signal', 'an AbortSignal', signal);
  if (onWaiting !== undefined) checkFunction('onWaiting', onWaiting);
  return {
    timeout,
    signal,
    permits: checkPermits(permits),
    order: resolveOrder(options),
    cost: resolveCosts('cost', options.cost, budgets),
    onWaiting,
  };
}

const ONLY_BESIDE_GROUP =
  'only beside group, whose share it is (add group, or use permits to take several)';

function resolveOrder(options: AcquireOptions): port.RequestOrder | undefined {
  const { group, weight, priority = 0 } = options;
  integer('priority', priority, 0, 9);
  if (group !== undefined) text('group', group, 1, LONGEST_GROUP);
  if (weight !== undefined) {
    integer('weight', weight, 1, 1000);
    checkType(group !== undefined, 'weight', ONLY_BESIDE_GROUP, weight);
  }
  if (group === undefined && priority === 0) return undefined;
  return { priority, weight: weight ?? 1, group: group ?? '' };
}

/** How long `close` waits for holders, in milliseconds. */
export function resolveClose(options: CloseOptions): number {
  checkOptions(options, 'drain');
  const { drain = 0 } = options;
  return milliseconds('drain', drain, 0, LONGEST_TIMER);
}

/** `budgets`: the names that a cost may have. */
export function resolveTry(options: TryAcquireOptions = {}, budgets?: port.Budgets): ResolvedTry {
  checkOptions(options, TRY_OPTIONS, 'options', 'an object with permits');
  const { permits, order, cost } = resolveAcquire(options, TRY_OPTIONS, budgets);
  return { permits, order, cost };
}

/**
 * Only the backend knows the limit that counts, so it refuses a number above it: see
 * `tooManyPermits`.
 */
export function checkPermits(permits = 1): number {
  return integer('permits', permits, 1, MOST_PERMITS);
}

/** `limit`: the limit that counted when the backend answered. */
export function tooManyPermits(name: string, permits: number, limit: number): RangeError {
  return rangeError(
    `permits: expected at most the limit of ${JSON.stringify(name)}, ${limit} (setLimit or a group limit may have lowered it), got ${permits}`,
  );
}

/** A name may have any characters, but two names must never make the same key. */
export function checkName(name: unknown): string {
  return text('name', name, 1, LONGEST_NAME);
}

/** The option `rate`, or the argument of `setRate`. */
export function resolveRate(given: RateOptions): port.Rate {
  checkOptions(given, 'permits per burst', 'rate', RATE_EXPECTED);
  const per = integer('rate.per', given.per, 1, LONGEST_PERIOD);
  const permits = integer('rate.permits', given.permits, 1, per * MOST_A_MILLISECOND);
  const mostBurst = Math.max(1, Math.floor((LONGEST_PERIOD / per) * permits));
  const { burst = 1 } = given;
  return Object.freeze({ permits, per, burst: integer('rate.burst', burst, 1, mostBurst) });
}

/** With a rate there may be no limit. */
export function checkLimit(option: string, limit: unknown, hasRate: boolean): number {
  if (limit !== Infinity) return integer(option, limit, 1);
  if (hasRate) return NO_LIMIT;
  throw rangeError(
    `${option}: expected an integer >= 1 (Infinity only beside a rate), got Infinity`,
  );
}

export function resolveRetry(given: RetryOptions): BackoffOptions {
  checkOptions(given, 'min max factor jitter', 'retry');
  const { min = 10, max = 200, factor = 2, jitter = true } = given;
  milliseconds('retry.min', min, 1, LONGEST_TIMER);
  milliseconds('retry.max', max, min, LONGEST_TIMER);
  number('retry.factor', factor, 1, 1000);
  checkType(typeof jitter === 'boolean', 'retry.jitter', 'true or false', jitter);
  return { min, max, factor, jitter };
}

export function checkFunction(option: string, value: unknown): void {
  checkType(typeof value === 'function', option, 'a function', value);
}

export function checkClock(clock: Clock): Clock {
  const methods = ['monotonic', 'wall', 'schedule'] as const;
  const isObject = typeof clock === 'object' && clock !== null;
  const isClock = isObject && methods.every((method) => typeof clock[method] === 'function');
  checkType(isClock, 'clock', 'an object with monotonic, wall and schedule', clock);
  for (const method of ['monotonic', 'wall'] as const) {
    const time: unknown = clock[method]();
    checkType(Number.isFinite(time), `clock.${method}`, 'it to give milliseconds', time);
  }
  return clock;
}

export function checkPrefix(prefix: unknown = 'redsem'): string {
  const checked = text('prefix', prefix, 1, 128);
  checkType(!/[{}]/.test(checked), 'prefix', 'no braces', prefix);
  return checked;
}

export function text(option: string, value: unknown, min: number, max: number): string {
  checkType(typeof value === 'string', option, 'a string', value);
  // Half of a surrogate pair has no bytes, so two such names would make the same key.
  checkType(value.isWellFormed(), option, 'well-formed Unicode', value);
  const bytes = Buffer.byteLength(value);
  if (bytes >= min && bytes <= max) return value;
  throw rangeError(`${option}: expected ${min} to ${max} bytes, got ${bytes}`);
}
