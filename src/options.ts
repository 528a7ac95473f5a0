import type { QueueProgress } from './backends/backend.js';
import type { LeaseKeeper } from './backends/lease-keeper.js';
import type { BackoffOptions } from './time/backoff.js';
import type { Clock } from './time/clock.js';

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
   * Pauses in milliseconds between polls while a request waits, and before redsem retries a failed
   * extension or release; a pause before a release is 1000 at most. Default
   * `{ min: 10, max: 200, factor: 2, jitter: true }`.
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
export interface WaitingReport extends QueueProgress {
  /**
   * Milliseconds until the request may be granted, if the queue moves on as fast as it did since
   * the first report; undefined until the request has come nearer.
   */
  readonly estimate?: number | undefined;
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

/**
 * A budget of the option `budgets`. By the server's clock, no period of `per` milliseconds is
 * charged more than `amount + burst` (or `amount` and the largest cost, if that is more). A request
 * that costs more than the burst is granted when the budget is full, and charged in full.
 */
export interface BudgetOptions extends Pick<RateOptions, 'per'> {
  /** How many units may be spent in a period: an integer, minimum 1. */
  readonly amount: number;
  /**
   * How many units may be spent at once after a pause: an integer, minimum 1, maximum as many as
   * come back in 1e12 ms (31 years). Default: `amount`.
   */
  readonly burst?: number | undefined;
}
