import { hostname } from 'node:os';
import type { Backend, Budgets, Costs, QueueProgress, RequestOrder } from './backends/backend.js';
import type { LeaseKeeper } from './backends/lease-keeper.js';
import { LONGEST_NAME, MOST_PERMITS, NO_LIMIT } from './backends/protocol.js';
import type { BackoffOptions } from './time/backoff.js';
import type { Clock } from './time/clock.js';
import { LONGEST_TIMER, systemClock } from './time/clock.js';
import type { BudgetOptions } from './arguments/budgets.js';
import { resolveBudgets, resolveCosts } from './arguments/budgets.js';
import type { OptionNames } from './arguments/known-options.js';
import {
  ACQUIRE_OPTIONS,
  checkOptions,
  optionNames,
  SEMAPHORE_OPTIONS,
} from './arguments/known-options.js';
import { integer, milliseconds, number } from './arguments/numbers.js';
import { formatValue, withoutCredentials } from './arguments/shown.js';
import { refuseWithoutQueue } from './arguments/target.js';
import { rangeError, typeError } from './arguments/validation.js';

/** The options of a `Semaphore`. */
export interface SemaphoreOptions {
  /**
   * How many permits there are: an integer, minimum 1. With a `rate` also Infinity, which counts as
   * 2^53 - 1.
   */
  readonly limit: number;
  /**
   * Life of a ticket without extension, in milliseconds. Default 30 000, minimum 100, maximum 2 147
   * 483 647.
   */
  readonly ttl?: number | undefined;
  /**
   * How often held tickets are extended, in milliseconds. Default `ttl / 3`, maximum `ttl / 2`; 0 =
   * never.
   */
  readonly extendEvery?: number | undefined;
  /**
   * Pauses between tries while waiting, in milliseconds. Default
   * `{ min: 10, max: 200, factor: 2, jitter: true }`.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * Start of every key and channel. Default `redsem`; no braces, because they would change a
   * cluster's hash tag.
   */
  readonly prefix?: string | undefined;
  /** The holder or waiter, as `inspect` shows it: at most 256 bytes. Default `host:pid`. */
  readonly label?: string | undefined;
  /**
   * Only for a server with replicas: a permit counts as acquired once `atLeast` of them (minimum 1)
   * have acknowledged it within `timeout` milliseconds (default 1000, minimum 1), else it is given
   * back and the try counts as failed. Makes it less likely that a failover forgets a permit, not
   * impossible: https://redis.io/docs/latest/commands/wait/. Default: not asked for.
   */
  readonly replicas?: ReplicaOptions | undefined;
  /**
   * How many requests may wait, of all processes: an `acquire` that would be one more rejects with
   * a `QueueFullError`, in one round trip. An integer, minimum 0: never queue. Not on several
   * masters. Default: any number.
   */
  readonly maxWaiting?: number | undefined;
  /**
   * How many permits may be granted in a period, besides how many may be held at once. The same
   * wherever the semaphore is used; what `setRate` stored counts instead. Not on several masters.
   * Default: any number.
   */
  readonly rate?: RateOptions | undefined;
  /**
   * Up to 4 by name: how much `cost` may be granted in a period, besides the rate, all or none. The
   * same wherever the semaphore is used; what `setBudget` stored counts instead. Not on several
   * masters. Default: none.
   */
  readonly budgets?: Readonly<Record<string, BudgetOptions>> | undefined;
  /**
   * How many permits each group may hold at once: an integer, minimum 1. A group that holds as many
   * is stepped over until a permit of the group comes back; requests without a group are one. The
   * same wherever the semaphore is used; what `setGroupLimit` stored counts instead. Not on several
   * masters. Default: any number.
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
  /** Ends the wait: it then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** How many permits to take at once, 1 to the limit, and 16 777 216 at most. Default 1. */
  readonly permits?: number | undefined;
  /**
   * Whose request it is, 1 to 128 bytes: where requests wait, each group of a priority gets permits
   * in proportion to its weight, however many requests it has. The order is self-clocked
   * fair queueing (Golestani, 1994). Not on several masters. Default: that of all requests
   * without one.
   */
  readonly group?: string | undefined;
  /** The share of the group: an integer, 1 to 1000, default 1. Only with `group`. */
  readonly weight?: number | undefined;
  /**
   * An integer, 0 to 9, default 0: requests of a higher one come first, so that lower ones can
   * starve. Not on several masters.
   */
  readonly priority?: number | undefined;
  /**
   * What it is charged of `budgets`, by name: integers, minimum 0. `release({ spent })` settles the
   * difference. Not on several masters. Default: nothing.
   */
  readonly cost?: Readonly<Record<string, number>> | undefined;
  /**
   * Called when the request is queued, and later when its position or the number of waiters has
   * changed, at most once a second: each time that redsem asks Redis again anyway, about every 1.5
   * s. No call is made for it. If it throws, or rejects while the request waits, the wait ends with
   * that error. Not on several masters. Default: none.
   */
  readonly onWaiting?: ((report: WaitingReport) => void | Promise<void>) | undefined;
}

/** What `onWaiting` hears. */
export interface WaitingReport extends QueueProgress {
  /**
   * How many permits of the semaphore this process holds itself, through the same client: does the
   * holder wait for this request?
   */
  readonly heldHere: number;
}

/** What `acquire` takes beside `permits`. */
export type WaitOptions = Omit<AcquireOptions, 'permits'>;

/** What an `acquire` of several at once takes: each of them has its own queue. */
export type DeadlineOptions = Pick<AcquireOptions, 'timeout' | 'signal'>;

/** The options of `tryAcquire` and `tryUse`. */
export type TryAcquireOptions = Pick<AcquireOptions, 'permits'>;

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
 * With `burst` 1, no window of `per` milliseconds, wherever it begins, has more
 * than `permits` grants, by the server's clock; with more, `permits + burst - 1`. A request for
 * more permits than the burst is granted when the bucket is full, and counts in full.
 */
export interface RateOptions {
  /** How many permits in a period: an integer, 1 to 1000 for each millisecond of `per`. */
  readonly permits: number;
  /** The period in milliseconds: an integer, 1 to 31 536 000 000 (365 days). */
  readonly per: number;
  /**
   * How many at once after a pause: an integer, minimum 1, maximum what comes within 365 days.
   * Default 1: one every `per / permits` milliseconds.
   */
  readonly burst?: number | undefined;
}

/** Options where each was given. */
type Given<Options> = { readonly [Name in keyof Options]-?: NonNullable<Options[Name]> };

/** What has no default. */
type WithoutDefault = 'replicas' | 'maxWaiting' | 'rate' | 'budgets' | 'groupLimit' | 'keeper';

/** `SemaphoreOptions` checked and with defaults. */
export interface ResolvedOptions extends Given<Omit<SemaphoreOptions, WithoutDefault | 'retry'>> {
  readonly retry: BackoffOptions;
  readonly replicas: Given<ReplicaOptions> | undefined;
  readonly maxWaiting: number | undefined;
  readonly rate: Given<RateOptions> | undefined;
  readonly budgets: Budgets | undefined;
  readonly groupLimit: number | undefined;
  readonly keeper: LeaseKeeper | undefined;
}

export interface ResolvedAcquire {
  /** Infinity: no limit. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  readonly permits: number;
  /** Undefined: priority 0, no group. */
  readonly order: RequestOrder | undefined;
  readonly cost: Costs | undefined;
  readonly onWaiting: ((report: WaitingReport) => void | Promise<void>) | undefined;
}

const DEFAULT_TTL = 30_000;
const MINIMUM_TTL = 100;
/** In bytes. */
const LONGEST_GROUP = 128;
/** The longest period, in milliseconds: 365 days. */
const LONGEST_PERIOD = 31_536_000_000;

/** Grants have their times in microseconds. */
const MOST_A_MILLISECOND = 1000;

const RETRY_OPTIONS = optionNames('min max factor jitter');
const REPLICA_OPTIONS = optionNames('atLeast timeout');
const RATE_OPTIONS = optionNames('permits per burst');
const CLOSE_OPTIONS = optionNames('drain');
const TRY_OPTIONS = optionNames('permits');

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
    budgets: resolveBudgets(options.budgets),
    groupLimit: resolveGroupLimit(options.groupLimit),
    clock: checkClock(clock),
    keeper: checkKeeper(options.keeper),
  });
}

export function resolveGroupLimit(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : integer('groupLimit', limit, 1);
}

function checkKeeper(keeper: LeaseKeeper | undefined): LeaseKeeper | undefined {
  if (keeper === undefined || typeof keeper?.open === 'function') return keeper;
  throw typeError(`keeper: expected a Keeper of redsem/keeper, got ${formatValue(keeper)}`);
}

function resolveReplicas(given: ReplicaOptions | undefined): Given<ReplicaOptions> | undefined {
  if (given === undefined) return undefined;
  checkOptions(given, REPLICA_OPTIONS, 'replicas', 'an object with atLeast');
  const { timeout = 1000 } = given;
  return {
    atLeast: integer('replicas.atLeast', given.atLeast, 1),
    timeout: milliseconds('replicas.timeout', timeout, 1, LONGEST_TIMER),
  };
}

/** `known`: the options that the call takes. `budgets`: what a cost may name. */
export function resolveAcquire(
  given: number | AcquireOptions = {},
  known: OptionNames = ACQUIRE_OPTIONS,
  budgets?: Budgets,
): ResolvedAcquire {
  const options: AcquireOptions = typeof given === 'number' ? { timeout: given } : given;
  if (typeof options !== 'object' || options === null) {
    throw typeError(
      `timeout: expected a number of milliseconds or an options object, got ${formatValue(given)}`,
    );
  }
  checkOptions(options, known);
  const { timeout = Infinity, permits, signal, onWaiting } = options;
  if (timeout !== Infinity) milliseconds('timeout', timeout, 0, Number.MAX_SAFE_INTEGER);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw typeError(`signal: expected an AbortSignal, got ${formatValue(signal)}`);
  }
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

function resolveOrder({ group, weight, priority = 0 }: AcquireOptions): RequestOrder | undefined {
  integer('priority', priority, 0, 9);
  if (group !== undefined) text('group', group, 1, LONGEST_GROUP);
  if (weight !== undefined) {
    integer('weight', weight, 1, 1000);
    if (group === undefined) {
      throw typeError(
        `weight: expected only beside group, whose share it is (add group, or use permits to take several), got ${formatValue(weight)}`,
      );
    }
  }
  if (group === undefined && priority === 0) return undefined;
  return { priority, weight: weight ?? 1, group: group ?? '' };
}

/** How long `close` leaves to holders, in milliseconds. */
export function resolveClose(options: CloseOptions): number {
  checkOptions(options, CLOSE_OPTIONS);
  const { drain = 0 } = options;
  return milliseconds('drain', drain, 0, LONGEST_TIMER);
}

/** How many permits `tryAcquire` asks for. */
export function resolveTry(options: TryAcquireOptions = {}): number {
  checkOptions(options, TRY_OPTIONS, 'options', 'an object with permits');
  return checkPermits(options.permits);
}

/** Whether the limit allows as many, only the backend knows: see `tooManyPermits`. */
export function checkPermits(permits = 1): number {
  return integer('permits', permits, 1, MOST_PERMITS);
}

/** `limit`: the limit that counted when the backend answered. */
export function tooManyPermits(name: string, permits: number, limit: number): RangeError {
  return rangeError(
    `permits: expected at most the limit of ${JSON.stringify(name)}, ${limit} (setLimit or a group limit may have lowered it), got ${permits}`,
  );
}

/** Names may hold anything, but two names must never become one key. */
export function checkName(name: unknown): string {
  return text('name', name, 1, LONGEST_NAME);
}

/** The option `rate`, or the argument of `setRate`. */
export function resolveRate(given: RateOptions): Given<RateOptions> {
  checkOptions(given, RATE_OPTIONS, 'rate', 'an object such as { permits: 100, per: 60_000 }');
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

/** @throws {TypeError} where the target cannot do what the options ask for */
export function checkTarget(backend: Backend, options: ResolvedOptions): void {
  const { maxWaiting } = options;
  refuseWithoutQueue(backend, { maxWaiting });
  for (const option of ['rate', 'budgets', 'groupLimit'] as const) {
    if (options[option] !== undefined) checkRateTarget(backend, option);
  }
}

/** @throws {TypeError} where there is no queue in which a rate could be kept */
export function checkRateTarget(
  backend: Backend,
  option: 'rate' | 'budgets' | 'groupLimit' = 'rate',
): void {
  const method = option === 'groupLimit' ? 'setGroupLimit' : 'setRate';
  if (backend[method] !== undefined) return;
  throw typeError(
    `${option}: expected none on several masters, because a quorum has no queue, nor on a backend without ${method}, got one`,
  );
}

/** @throws {TypeError} where replicas are wanted and the backend has none */
export function withReplicas(backend: Backend, { replicas }: ResolvedOptions): Backend {
  const wrapped = replicas === undefined ? backend : backend.withReplicas?.(replicas);
  if (wrapped !== undefined) return wrapped;
  throw typeError(
    'replicas: expected none, or a client of one Redis server or of a sentinel through ioredis as target, got another target',
  );
}

export function resolveRetry(given: RetryOptions): BackoffOptions {
  checkOptions(given, RETRY_OPTIONS, 'retry');
  const { min = 10, max = 200, factor = 2, jitter = true } = given;
  milliseconds('retry.min', min, 1, LONGEST_TIMER);
  milliseconds('retry.max', max, min, LONGEST_TIMER);
  number('retry.factor', factor, 1, 1000);
  if (typeof jitter !== 'boolean') {
    throw typeError(`retry.jitter: expected true or false, got ${formatValue(jitter)}`);
  }
  return { min, max, factor, jitter };
}

export function checkFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') {
    throw typeError(`${option}: expected a function, got ${formatValue(value)}`);
  }
}

export function checkClock(clock: Clock): Clock {
  const methods = ['monotonic', 'wall', 'schedule'] as const;
  const usable = typeof clock === 'object' && clock !== null;
  if (!usable || methods.some((method) => typeof clock[method] !== 'function')) {
    throw typeError(
      `clock: expected an object with monotonic, wall and schedule, got ${formatValue(clock)}`,
    );
  }
  for (const method of ['monotonic', 'wall'] as const) {
    const time: unknown = clock[method]();
    if (Number.isFinite(time)) continue;
    throw typeError(`clock.${method}: expected it to give milliseconds, got ${formatValue(time)}`);
  }
  return clock;
}

export function checkPrefix(prefix: unknown = 'redsem'): string {
  const checked = text('prefix', prefix, 1, 128);
  if (/[{}]/.test(checked)) {
    throw typeError(`prefix: expected no braces, got ${formatValue(prefix)}`);
  }
  return checked;
}

export function text(option: string, value: unknown, min: number, max: number): string {
  if (typeof value !== 'string') {
    throw typeError(`${option}: expected a string, got ${formatValue(value)}`);
  }
  // Half of a surrogate pair has no bytes: two such strings would be one key.
  if (!value.isWellFormed()) {
    throw typeError(`${option}: expected well-formed Unicode, got ${formatValue(value)}`);
  }
  const bytes = Buffer.byteLength(value);
  if (bytes < min || bytes > max) {
    throw rangeError(`${option}: expected ${min} to ${max} bytes, got ${bytes}`);
  }
  return value;
}
