import { hostname } from 'node:os';
import type * as port from '../backends/backend.js';
import { MOST_ADDED } from '../backends/gcra.js';
import { MOST_BUDGETS, MOST_PERMITS, NO_LIMIT } from '../backends/protocol.js';
import type * as user from '../options.js';
import type { BackoffOptions } from '../time/backoff.js';
import { type Clock, LONGEST_TIMER, systemClock } from '../time/clock.js';
import { ACQUIRE_OPTIONS, checkOptions, SEMAPHORE_OPTIONS, TRY_OPTIONS } from './known-options.js';
import type { OptionNames } from './known-options.js';
import { withoutCredentials } from './shown.js';
import { checkRange, checkType, integer, isObject } from './validation.js';
import { milliseconds, rangeError, text } from './validation.js';

type Defaulted = 'limit' | 'ttl' | 'extendEvery' | 'prefix' | 'label' | 'clock';
/** Options that have a value in any case. */
type Given = { readonly [Name in Defaulted]: NonNullable<user.SemaphoreOptions[Name]> };

/** `SemaphoreOptions` checked and with defaults. */
export interface ResolvedOptions
  extends Given, port.Policies, Pick<user.SemaphoreOptions, 'maxWaiting' | 'keeper'> {
  readonly retry: BackoffOptions;
  readonly replicas: port.ReplicaRequirement | undefined;
}

/** What a request asks for. Without `timeout` it is one try; Infinity: no limit. */
export type ResolvedRequest = Pick<port.TicketRequest, 'permits' | 'order' | 'cost'> &
  Pick<user.AcquireOptions, 'timeout' | 'signal' | 'onWaiting'>;

/** 365 days, in milliseconds. */
const LONGEST_PERIOD = 31_536_000_000;

/** `known`: the options that the constructor takes. */
export function resolveOptions(
  options: user.SemaphoreOptions,
  backendClock?: Clock,
  known: OptionNames = SEMAPHORE_OPTIONS,
): ResolvedOptions {
  const hint = typeof options === 'number' ? `, as in { limit: ${String(options)} }` : '';
  checkOptions(options, known, 'options', `an object with a limit${hint}`);
  const { ttl = 30_000, maxWaiting, budgets, groupLimit, keeper } = options;
  const { label = `${hostname()}:${process.pid}`, clock = backendClock ?? systemClock } = options;
  const rate = options.rate === undefined ? undefined : resolveRate(options.rate);
  const limit = checkLimit('limit', options.limit, rate !== undefined);
  milliseconds('ttl', ttl, 100, LONGEST_TIMER);
  const { extendEvery = ttl / 3 } = options;
  const isKeeper = keeper === undefined || typeof keeper?.open === 'function';
  checkType(isKeeper, 'keeper', 'a Keeper of redsem/keeper', keeper);
  return Object.freeze({
    limit,
    ttl,
    extendEvery: milliseconds('extendEvery', extendEvery, 0, ttl / 2),
    retry: resolveRetry(options.retry),
    prefix: checkPrefix(options.prefix),
    label: withoutCredentials(text('label', label, 0, 256)),
    replicas: resolveReplicas(options.replicas),
    maxWaiting: maxWaiting === undefined ? undefined : integer('maxWaiting', maxWaiting, 0),
    rate,
    budgets: budgets === undefined ? undefined : byBudget('budgets', budgets, resolveBudget),
    groupLimit: groupLimit === undefined ? undefined : integer('groupLimit', groupLimit, 1),
    clock: checkClock(clock),
    keeper,
  });
}

function resolveReplicas(given?: user.ReplicaOptions): port.ReplicaRequirement | undefined {
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
  given?: number | user.AcquireOptions,
  known: OptionNames = ACQUIRE_OPTIONS,
  budgets?: port.Budgets,
): ResolvedRequest & { readonly timeout: number } {
  if (given === undefined) return PLAIN;
  const options: user.AcquireOptions = typeof given === 'number' ? { timeout: given } : given;
  const expected = 'a number of milliseconds or an options object';
  checkType(typeof options === 'object' && options !== null, 'timeout', expected, given);
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

/** Of each `acquire` without options, which are most. */
const PLAIN = resolveAcquire({});

const ONLY_BESIDE_GROUP =
  'only beside group, whose share it is (add group, or use permits to take several)';

function resolveOrder(options: user.AcquireOptions): port.RequestOrder | undefined {
  const { group, weight, priority = 0 } = options;
  integer('priority', priority, 0, 9);
  if (group !== undefined) text('group', group, 1, 128);
  if (weight !== undefined) {
    integer('weight', weight, 1, 1000);
    checkType(group !== undefined, 'weight', ONLY_BESIDE_GROUP, weight);
  }
  if (group === undefined && priority === 0) return undefined;
  return { priority, weight: weight ?? 1, group: group ?? '' };
}

/** How long `close` waits for holders, in milliseconds. */
export function resolveClose(options: user.CloseOptions): number {
  checkOptions(options, 'drain');
  const { drain = 0 } = options;
  return milliseconds('drain', drain, 0, LONGEST_TIMER);
}

/** `budgets`: the names that a cost may have. */
export function resolveTry(
  given: user.TryAcquireOptions = {},
  budgets?: port.Budgets,
): ResolvedRequest {
  checkOptions(given, TRY_OPTIONS, 'options', 'an object with permits');
  const { permits, order, cost } = resolveAcquire(given, TRY_OPTIONS, budgets);
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

/** The option `rate`, or the argument of `setRate`. */
export function resolveRate(given: user.RateOptions): port.Rate {
  const expected = 'an object such as { permits: 100, per: 60_000 }';
  checkOptions(given, 'permits per burst', 'rate', expected);
  const per = integer('rate.per', given.per, 1, LONGEST_PERIOD);
  // The scripts count the times of grants in microseconds.
  const permits = integer('rate.permits', given.permits, 1, per * 1000);
  const mostBurst = Math.max(1, Math.floor((LONGEST_PERIOD / per) * permits));
  const { burst = 1 } = given;
  return Object.freeze({ permits, per, burst: integer('rate.burst', burst, 1, mostBurst) });
}

/** With a rate there may be no limit. */
export function checkLimit(option: string, limit: unknown, hasRate: boolean): number {
  if (limit !== Infinity) return integer(option, limit, 1);
  checkRange(hasRate, option, 'an integer >= 1 (Infinity only beside a rate)', 'Infinity');
  return NO_LIMIT;
}

export function resolveRetry(given: user.RetryOptions = {}): BackoffOptions {
  checkOptions(given, 'min max factor jitter', 'retry');
  const { min = 10, max = 200, factor = 2, jitter = true } = given;
  milliseconds('retry.min', min, 1, LONGEST_TIMER);
  milliseconds('retry.max', max, min, LONGEST_TIMER);
  checkType(typeof factor === 'number', 'retry.factor', 'a number', factor);
  checkRange(factor >= 1 && factor <= 1000, 'retry.factor', '1 to 1000', factor);
  checkType(typeof jitter === 'boolean', 'retry.jitter', 'true or false', jitter);
  return { min, max, factor, jitter };
}

export function checkFunction(option: string, value: unknown): void {
  checkType(typeof value === 'function', option, 'a function', value);
}

export function checkClock(clock: Clock): Clock {
  const methods = ['monotonic', 'wall', 'schedule'] as const;
  const isClock = methods.every((method) => typeof clock?.[method] === 'function');
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

export function checkBudgetName(option: string, name: unknown): void {
  const fits = typeof name === 'string' && /^[\w.-]{1,32}$/.test(name);
  checkType(fits, option, 'a name of 1 to 32 letters, digits and _ . -', name);
}

/** `known`: the budgets of the semaphore. */
export function checkBudgetRoom(semaphore: string, known: readonly string[], name: string): void {
  const hasRoom = known.length < MOST_BUDGETS || known.includes(name);
  const among = `the ${known.length} of ${JSON.stringify(semaphore)}, which are as many as may count`;
  const expected = `a budget among ${among} (${known.join(', ')})`;
  checkRange(hasRoom, 'name', expected, JSON.stringify(name));
}

/** `option`: its name in messages. */
export function resolveBudget(option: string, given: user.BudgetOptions): port.Rate {
  const expected = 'an object such as { amount: 90_000, per: 60_000 }';
  checkOptions(given, 'amount per burst', option, expected);
  const permits = integer(`${option}.amount`, given.amount, 1);
  const per = integer(`${option}.per`, given.per, 1, LONGEST_PERIOD);
  const { burst = permits } = given;
  // A cost that takes longer to come back would not be charged in full.
  const most = Math.min(Math.floor((MOST_ADDED / (per * 1000)) * permits), Number.MAX_SAFE_INTEGER);
  return { permits, per, burst: integer(`${option}.burst`, burst, 1, most) };
}

/**
 * The cost of a request, or the units that a ticket has spent. `known`: the names that are allowed;
 * undefined: any.
 */
export function resolveCosts(
  option: string,
  given: Readonly<Record<string, number>> | undefined,
  known?: port.Budgets,
): port.Costs | undefined {
  if (given === undefined) return undefined;
  const costs = byBudget(option, given, (name, units) => {
    const isKnown = known === undefined || Object.hasOwn(known, name.slice(option.length + 1));
    const names = Object.keys(known ?? {}).join(', ');
    checkType(isKnown, name, `a name among budgets (${names})`, units);
    return integer(name, units, 0);
  });
  return Object.keys(costs).length === 0 ? undefined : costs;
}

/** Without a prototype, so that every name in it is the name of a budget. */
function byBudget<Value, Resolved>(
  option: string,
  given: Readonly<Record<string, Value>>,
  resolve: (option: string, value: Value) => Resolved,
): Readonly<Record<string, Resolved>> {
  checkType(isObject(given), option, 'an object by names of budgets', given);
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const most = `at most ${MOST_BUDGETS}${option === 'budgets' ? '' : ' budgets'}`;
  checkRange(entries.length <= MOST_BUDGETS, option, most, entries.length);
  const record: Record<string, Resolved> = {};
  Object.setPrototypeOf(record, null);
  for (const [name, value] of entries) {
    checkBudgetName(option, name);
    record[name] = resolve(`${option}.${name}`, value);
  }
  return record;
}
