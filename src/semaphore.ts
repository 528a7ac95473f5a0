import { EventEmitter } from 'node:events';
import { inspect, type InspectOptions } from 'node:util';
import type { Backend, InspectReply } from './backends/backend.js';
import { NO_LIMIT } from './backends/protocol.js';
import { checkTicketId } from './backends/ticket-id.js';
import { backendOf, type RedisTarget } from './clients.js';
import type { Admin } from './core/admin.js';
import type { Lease } from './core/lease.js';
import { SemaphoreLink } from './core/semaphore-link.js';
import { acquireTogether } from './core/together.js';
import { runHolding, type Task } from './core/use.js';
import { ClosedError, HandleLostError, type HeldHere } from './errors.js';
import { checkHandleData, Handle, type HandleData, type HandleLike } from './handle.js';
import type * as user from './options.js';
import * as args from './arguments/resolve.js';
import { onceListened, refuseEventsOfHandles } from './events.js';
import { describe, isUnreachable } from './error-causes.js';
import { telemetry } from './telemetry.js';
import { checkName, checkRange, integer } from './arguments/validation.js';
import { quoted, safeCause, withoutCredentials } from './arguments/shown.js';
import { backendFor, checkRateTarget, checkRequest } from './arguments/target.js';

// How a semaphore works. `acquire` makes a request, which asks the backend once: what is ready in
// the same turn of the event loop travels in one call. The backend drops tickets that have expired
// by its own clock. Then it grants the request a ticket, with the lowest free slots and a higher
// fencing token, or puts the request at its place in the queue. A queued request sleeps. A grant
// that the backend pushes wakes it, and so does the next poll: losing every push costs time, never
// a permit. A granted request is a lease, which is valid for a ttl, less a margin, from the moment
// at which the last confirmed call was sent. Extensions renew it every third of a ttl. `release`
// gives the ticket back in one call, which also grants the free permits to the head of the queue.

type WarningCode = SemaphoreWarning['code'];
type Taken = readonly Handle[] | null;
type Shares = readonly { readonly semaphore: Semaphore; readonly permits: number }[];

/**
 * A counting semaphore: at most `limit` permits at once, in every process that uses the same name
 * on the same backend. One object serves any number of callers.
 */
export class Semaphore extends EventEmitter<SemaphoreEvents> {
  /** As given to the constructor. */
  readonly name: string;
  readonly #link: SemaphoreLink;
  readonly #keep = (lease: Lease | undefined): Handle => {
    // The semaphore was closed meanwhile. A lease without a handle would be extended for ever.
    if (lease === undefined) throw new ClosedError(this.name);
    if (this.#isClosed) lease.lose('closed');
    this.#assertOpen();
    return Handle.of(lease, this.#warn);
  };
  /** No warning has credentials. */
  readonly #warn = (code: WarningCode, message: string, cause?: unknown): boolean => {
    const clean = { code, message: withoutCredentials(message) };
    const warning = cause === undefined ? clean : { ...clean, cause: safeCause(cause) };
    if (this.#pool !== undefined) return this.#pool.onWarning(warning);
    // On the next tick, so that the error of a listener becomes an uncaught exception.
    process.nextTick(() => this.emit('warning', warning));
    return true;
  };
  /** Set before close() calls any listener, so that listeners find it closed. */
  #isClosed = false;
  #closed: Promise<void> | undefined;
  #stopHazards: (() => void) | undefined;
  #pool: PoolReports | undefined;
  /** Whether the user knows that a limit is stored: a warning said so, or this object stored it. */
  #knowsStored = false;
  /** A warning said that another process uses another limit. */
  #knowsOther = false;

  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), a
   *   `Backend`, or an array of clients of independent masters (a quorum)
   * @param name any text of 1 to 512 bytes; the same prefix and name mean the same permits, in
   *   every process
   * @param options the limit, which is required, and options with defaults
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: RedisTarget | Backend, name: string, options: user.SemaphoreOptions) {
    super();
    const backend = backendOf(target);
    this.name = checkName(name);
    const resolved = args.resolveOptions(options, backend.clock);
    const key = { prefix: resolved.prefix, name };
    this.#link = new SemaphoreLink(backendFor(backend, resolved), key, resolved);
    EventEmitter.prototype.on.call(this, 'newListener', refuseEventsOfHandles);
    // Only a semaphore with a listener asks the server, so that an acquire of another stays one
    // command.
    onceListened(this, 'warning', () => {
      if (this.#isClosed) return;
      this.#watchCalls();
      this.#watchForHazards();
    });
  }

  /** @internal A semaphore that reports its warnings only to `pool`. */
  static pooled(pool: PoolReports, ...given: ConstructorParameters<typeof Semaphore>): Semaphore {
    const semaphore = new Semaphore(...given);
    semaphore.#pool = pool;
    semaphore.#watchCalls();
    return semaphore;
  }

  /**
   * The limit that counts, by the last reply of the backend: the limit that `setLimit` stored, else
   * the constructor's limit.
   */
  get limit(): number {
    return this.#link.limit;
  }

  /** @internal The permits that this process holds. */
  get heldHere(): HeldHere | undefined {
    return this.#link.heldHere;
  }

  /**
   * Waits for a permit. If no permit is free, Redis queues the request. All processes share one
   * order: by priority, then by fair shares of groups, then by arrival.
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or
   *   `AcquireOptions`
   * @throws {AcquireTimeoutError} when no permit came free in time; its `cause` is the last error
   *   of the backend, if any
   * @throws {QueueFullError} when `maxWaiting` requests wait already
   * @throws {BackendError} when a retry cannot help: wrong type under a key, no rights, out of
   *   memory
   * @throws {TypeError | RangeError} for wrong options, and when it asks for more permits than the
   *   limit in the backend
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws the signal's reason when it aborts
   */
  acquire(options?: number | user.AcquireOptions): Promise<Handle> {
    if (!telemetry.acquire.hasSubscribers) return this.#acquire(options);
    const { timeout = Infinity, permits } =
      typeof options === 'number' ? { timeout: options } : (options ?? {});
    return this.#traced(() => this.#acquire(options), permits, timeout);
  }

  #traced<R>(call: () => Promise<R>, permits = 1, timeout?: number): Promise<R> {
    if (!telemetry.acquire.hasSubscribers) return call();
    return telemetry.acquire.tracePromise(call, { name: this.name, permits, timeout });
  }

  // Not an async function, because each promise costs time on this path.
  #acquire(options?: number | user.AcquireOptions): Promise<Handle> {
    try {
      this.#assertOpen();
      const params = args.resolveAcquire(options, undefined, this.#link.options.budgets);
      params.signal?.throwIfAborted();
      checkRequest(this.#link.backend, params);
      // A user's clock may throw.
      return this.#link.acquire(params).then(this.#keep);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Tries once, in one round trip: takes all permits or none. Gives null when too few permits are
   * free, when other requests come first, when the rate or a budget does not allow the request now,
   * or when its group holds `groupLimit` permits.
   * @param options `permits`: how many to take, 1 to the limit, default 1; `group` and `cost` as in
   *   `AcquireOptions`
   * @throws {TypeError | RangeError} for wrong options, and when it asks for more permits than the
   *   limit in the backend
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  tryAcquire(options?: user.TryAcquireOptions): Promise<Handle | null> {
    return this.#traced(() => this.#tryAcquire(options), options?.permits);
  }

  async #tryAcquire(options: user.TryAcquireOptions | undefined): Promise<Handle | null> {
    this.#assertOpen();
    const wanted = args.resolveTry(options, this.#link.options.budgets);
    checkRequest(this.#link.backend, wanted);
    const lease = await this.#link.acquire(wanted);
    return lease === undefined ? null : this.#keep(lease);
  }

  /**
   * @internal One call for permits of several semaphores, all or none. Null: a permit was not free.
   *   `unable`: no single call can take them all.
   */
  static async tryTogether(shares: Shares, signal: AbortSignal): Promise<Taken | 'unable'> {
    const wanted = shares.map(({ semaphore, permits }) => {
      semaphore.#assertOpen();
      checkRequest(semaphore.#link.backend, { permits });
      return { link: semaphore.#link, permits };
    });
    const outcomes = acquireTogether(wanted, signal);
    if (outcomes === 'unable') return outcomes;
    const handles = shares.map(({ semaphore, permits }, i) =>
      semaphore.#traced(async () => {
        const lease = await outcomes[i];
        return lease === undefined ? null : semaphore.#keep(lease);
      }, permits),
    );
    const settled = await Promise.allSettled(handles);
    const taken = settled.flatMap((each) => ('value' in each && each.value) || []);
    if (taken.length === shares.length) return taken;
    for (const handle of taken) void handle.release().catch(() => undefined);
    for (const each of settled) if (each.status === 'rejected') throw each.reason;
    return null;
  }

  /**
   * Runs `fn` with a handle, then releases the handle, also when `fn` throws. Resolves or rejects
   * as `fn` does. A failed release changes neither the result nor the error of `fn`: it becomes the
   * `cause` (or `suppressed`) of the error, or a `warning` if `fn` gave a result.
   * @param fn gets the handle; its `signal` aborts when the permit is lost
   * @param options as `acquire`
   * @throws as `acquire`, and what `fn` throws
   */
  async use<T>(fn: Task<Handle, T>, options?: number | user.AcquireOptions): Promise<T> {
    args.checkFunction('fn', fn);
    return runHolding(await this.acquire(options), fn);
  }

  /**
   * As `use`, but runs `fn` only if a permit is free now: for a job that starts on every replica,
   * but must run on a single replica.
   * @throws as `tryAcquire`, and what `fn` throws
   */
  async tryUse<T>(fn: Task<Handle, T>, options?: user.TryAcquireOptions): Promise<TryUseResult<T>> {
    args.checkFunction('fn', fn);
    const handle = await this.tryAcquire(options);
    return handle === null ? { ran: false } : { ran: true, result: await runHolding(handle, fn) };
  }

  /**
   * Gives the limit, the rate, the time until the rate allows the next permit, the permits held and
   * the requests waiting, with their labels. It does not count expired tickets and requests. It
   * reads a large semaphore in pages.
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or takes longer than min(ttl, 5000) ms
   */
  async inspect(): Promise<SemaphoreState> {
    return { name: this.name, ...(await this.#ask((admin) => admin.inspect())) };
  }

  /**
   * Stores a limit for every process that uses this name, in place of the limit of its constructor.
   * Each process uses the stored limit from its next call on. When the limit grows, waiters get the
   * new permits at once. When it shrinks, holders keep their permits. 0 pauses the semaphore:
   * holders keep their permits, and requests wait until another limit is set. Redis keeps the limit
   * until a day after the last use.
   * @param limit an integer, minimum 0; undefined removes the stored limit, so that each object
   *   uses its own limit again
   * @throws {RangeError | TypeError} for any other value
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async setLimit(limit: number | undefined): Promise<void> {
    if (limit !== undefined) integer('limit', limit, 0);
    this.#knowsStored = true;
    await this.#ask((admin) => admin.setLimit(limit));
  }

  /**
   * Changes the limit by a number, in one step, so it overwrites no change of another process. It
   * starts from the limit that counts: the stored limit, else the limit of this object. Otherwise
   * it is as `setLimit`.
   * @param delta an integer; negative takes permits away
   * @returns the new limit
   * @throws {RangeError} when the limit would be below 0 or above 2^53 - 1; nothing is changed
   * @throws {TypeError} for anything that is no number
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms;
   *   `inspect` gives the limit
   */
  async addPermits(delta: number): Promise<number> {
    integer('delta', delta, -Number.MAX_SAFE_INTEGER);
    this.#knowsStored = true;
    const { limit = 0, refused = false } = await this.#ask((admin) => admin.addPermits(delta));
    const leaves = `leaves ${JSON.stringify(this.name)}, whose limit is ${limit}, with a limit of`;
    checkRange(!refused, 'delta', `a number that ${leaves} 0 to 2^53 - 1`, delta);
    return limit;
  }

  /**
   * Stores a rate for every process that uses this name, in place of the rate of its constructor.
   * Each process uses the stored rate from its next call on. Permits that were granted before still
   * count. Waiters get at once the permits that the new rate allows. Redis keeps the rate until a
   * day after the last use.
   * @param rate as the option `rate`; undefined: no rate counts, not even a constructor's rate
   * @throws {RangeError | TypeError} for anything else, and on several masters
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async setRate(rate: user.RateOptions | undefined): Promise<void> {
    const resolved = rate === undefined ? undefined : args.resolveRate(rate);
    checkRateTarget(this.#link.backend, 'rate');
    await this.#ask((admin) => admin.setRate(resolved));
  }

  /**
   * Changes a budget for every process that uses this name, as `setRate` changes the rate.
   * @param name as in the option `budgets`
   * @param budget as in the option; undefined: no budget of this name counts, not even a
   *   constructor's budget
   * @throws {RangeError} when there are four budgets of other names already, stored or in the
   *   options of this object; nothing is changed
   * @throws as `setRate` otherwise
   */
  async setBudget(name: string, budget: user.BudgetOptions | undefined): Promise<void> {
    args.checkBudgetName('name', name);
    const resolved = budget === undefined ? undefined : args.resolveBudget('budget', budget);
    checkRateTarget(this.#link.backend, 'budgets');
    await this.#ask((admin) => admin.setRate(resolved, name));
  }

  /**
   * Stores how many permits each group may hold at once, for every process that uses this name, in
   * place of the `groupLimit` of its constructor. Holders keep their permits. Redis keeps the
   * number until a day after the last use.
   * @param limit as the option `groupLimit`; undefined: a group may hold any number
   * @throws as `setRate`
   */
  async setGroupLimit(limit: number | undefined): Promise<void> {
    if (limit !== undefined) integer('groupLimit', limit, 1);
    checkRateTarget(this.#link.backend, 'groupLimit');
    await this.#ask((admin) => admin.setGroupLimit(limit));
  }

  /**
   * Takes over a ticket that another process acquired: from now on this process extends it. The
   * ticket keeps its slots and gets a new fencing token. The former holder learns at its next
   * extension, at the latest, that the ticket is lost. If several processes adopt it, the last of
   * them owns it.
   * @param ticket the result of `handle.toJSON()`
   * @throws {HandleLostError} with reason `missing` when the ticket is gone
   * @throws {TypeError} when it is not the data of a handle of this semaphore
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async adopt(ticket: HandleData): Promise<Handle> {
    const { id, slots } = checkHandleData(ticket, this.name);
    return this.#ask(async (admin) => {
      const lease = await admin.adopt(id, slots.length);
      if (lease === undefined) throw new HandleLostError(this.name, id, 'missing');
      return this.#keep(lease);
    });
  }

  /**
   * For operators: takes a ticket from its holder and gives its permits to the next waiters. The
   * holder's handle is lost with reason `revoked`, at once if a message reaches it, else at its
   * next extension.
   * @param ticketId as `inspect` shows it
   * @returns false when there is no such ticket; true also when it was revoked a moment ago
   * @throws {TypeError} when it is no id of a ticket
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async revoke(ticketId: string): Promise<boolean> {
    checkTicketId(ticketId);
    return this.#ask((admin) => admin.revoke(ticketId));
  }

  /**
   * Takes the permits from all handles at once, also while their work still runs. With `drain`,
   * holders first have `drain` milliseconds to release their permits. New and waiting requests
   * reject with a `ClosedError` at once. A handle that is still held at the end emits `lost` with
   * reason `closed`, its `signal` aborts, and the next waiter gets its permit. Many hundred handles
   * are released over several turns of the event loop. The client stays open. A second `close()`
   * without `drain` ends the drain of the first call. Other calls that are under way may succeed,
   * but are not repeated. Resolves when every permit is given back and no call is under way, or
   * after min(ttl, 5000) ms more.
   * @param options `drain` in milliseconds, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  async close(options: user.CloseOptions = {}): Promise<void> {
    const drain = args.resolveClose(options);
    if (this.#isClosed && drain === 0) this.#link.endDrain?.();
    this.#isClosed = true;
    this.#stopHazards?.();
    return (this.#closed ??= this.#link.close(drain));
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** From now on the semaphore warns of problems that failed calls and replies show. */
  #watchCalls(): void {
    this.#link.listener = {
      onOutage: (cause) => {
        const what = isUnreachable(cause) ? 'cannot reach Redis' : 'the backend fails';
        const waits = `acquire() of ${JSON.stringify(this.name)} waits, and no call has succeeded for 5 s`;
        const message = `${what}: ${waits}; it is retried; last error: ${describe(cause)}`;
        return this.#warn('BACKEND_UNREACHABLE', message, cause);
      },
      onReply: () => {
        this.#pool?.onReply();
        this.#noteLimits();
      },
    };
  }

  #noteLimits(): void {
    const { limit: stored, otherLimit: other, call } = this.#link;
    if (other !== undefined && !this.#knowsOther) {
      const used = `${quoted(this.name)} is used with limit ${call.limit} here and ${other} elsewhere`;
      const message = `${used}: each process obeys its own until setLimit stores one`;
      this.#knowsOther = this.#warn('LIMIT_MISMATCH', message);
    }
    if (this.#knowsStored || stored === call.limit) return;
    const [counts, own] = [stored, call.limit].map((each) => (each === NO_LIMIT ? Infinity : each));
    const name = quoted(this.name);
    this.#knowsStored = this.#warn(
      'STORED_LIMIT',
      `the limit of ${name} is ${counts}, which setLimit or "redsem limit" stored, and not ${own}, which this object was made with; setLimit(undefined) or redsem limit ${name} none removes the stored limit`,
    );
  }

  #watchForHazards(): void {
    const { backend, key } = this.#link;
    this.#stopHazards = backend.onHazard?.(key, (message) => void this.#warn('NODE_SET', message));
    const found = backend.findHazard?.(key).catch(() => undefined);
    void found?.then((hazard) => hazard !== undefined && this.#warn('EVICTION', hazard));
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `${this.constructor.name} ${inspect({ name: this.name, limit: this.limit }, options)}`;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ClosedError(this.name);
  }

  /** A call about the semaphore as a whole: `close` waits for its end. */
  #ask<R>(call: (admin: Admin) => Promise<R>): Promise<R> {
    this.#assertOpen();
    const asked = call(this.#link.admin);
    this.#link.releases.drainAfter(asked);
    return asked;
  }
}

/** The result of `inspect`: permits held, requests waiting, and their labels. */
export interface SemaphoreState extends InspectReply {
  /** The semaphore's name. */
  readonly name: string;
}

/** A problem that needs your attention. The semaphore keeps working, or keeps trying. */
export interface SemaphoreWarning {
  /** The kind of problem, for programs: see the event `warning`. */
  readonly code:
    | 'BACKEND_UNREACHABLE'
    | 'EVICTION'
    | 'LIMIT_MISMATCH'
    | 'LOST_UNNOTICED'
    | 'NODE_SET'
    | 'RELEASE_FAILED'
    | 'STORED_LIMIT';
  /** The problem and what to do about it, in words. */
  readonly message: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
}

/** Every event and what its listeners get. */
export interface SemaphoreEvents {
  /**
   * `BACKEND_UNREACHABLE`: a request waits, and for 5 s every call for it has failed or got no
   * reply. The request keeps waiting. Once per outage; `cause` is the last error.
   * `EVICTION`: the server may evict a semaphore's keys. redsem asks once, when the first listener
   * is added, if the user has the right `+info`. `LIMIT_MISMATCH`: another process uses the same
   * name with another limit, and `setLimit` has stored no limit. `NODE_SET`: on several independent
   * masters, another process uses the nodes in another set. `STORED_LIMIT`: another object has
   * stored a limit, which counts instead of this object's limit. An object emits `EVICTION`,
   * `LIMIT_MISMATCH`, `NODE_SET` and `STORED_LIMIT` once.
   * `LOST_UNNOTICED`: the function of `use` ended without an error and never checked its permit,
   * which was lost meanwhile; each time. `RELEASE_FAILED`: a release failed, and no caller got the
   * error, because `use` gave the result of its function, or `await using` ended the block; each
   * time.
   */
  warning: [warning: SemaphoreWarning];
}

/** Whether a permit was free, and the result of the function. */
export type TryUseResult<T> = TryUseRan<T> | TryUseSkipped;

/** A permit was free and the function has run. */
export interface TryUseRan<T> {
  /** Distinguishes it from the other result. */
  readonly ran: true;
  /** The result of the function. */
  readonly result: T;
}

/** No permit was free, and the function was not called. */
export interface TryUseSkipped {
  /** Distinguishes it from the other result. */
  readonly ran: false;
}

/** Gets the reports of the semaphores of a pool, in place of their listeners. */
export interface PoolReports {
  /** A call has succeeded. */
  onReply(): void;
  /** False when no listener gets it. */
  onWarning(warning: SemaphoreWarning): boolean;
}

/** Members whose types name no handle. */
type WithoutHandles =
  'name' | 'limit' | 'inspect' | 'setLimit' | 'addPermits' | 'setRate' | 'revoke' | 'close';

/** The part of a `Semaphore` that code calls to take permits. Your fakes can implement it. */
export interface SemaphoreLike extends AsyncDisposable, Pick<Semaphore, WithoutHandles> {
  /** As `Semaphore.acquire`. */
  acquire(options?: number | user.AcquireOptions): Promise<HandleLike>;
  /** As `Semaphore.tryAcquire`. */
  tryAcquire(options?: user.TryAcquireOptions): Promise<HandleLike | null>;
  /** As `Semaphore.use`. */
  use<T>(fn: Task<HandleLike, T>, options?: number | user.AcquireOptions): Promise<T>;
  /** As `Semaphore.tryUse`. */
  tryUse<T>(fn: Task<HandleLike, T>, options?: user.TryAcquireOptions): Promise<TryUseResult<T>>;
}
