import { EventEmitter } from 'node:events';
import type { Backend } from './backends/backend.js';
import { checkTicketId } from './backends/ticket-id.js';
import { backendOf, type RedisTarget } from './clients.js';
import type { Admin } from './core/admin.js';
import type { Lease } from './core/lease.js';
import { SemaphoreLink } from './core/semaphore-link.js';
import { acquireTogether } from './core/together.js';
import { runHolding } from './core/use.js';
import { ClosedError, HandleLostError, type HeldHere } from './errors.js';
import { checkHandleData, Handle, type HandleData, type Warn } from './handle.js';
import {
  type AcquireOptions,
  checkFunction,
  checkName,
  type CloseOptions,
  type RateOptions,
  resolveAcquire,
  resolveClose,
  resolveGroupLimit,
  resolveOptions,
  resolveRate,
  resolveTry,
  type SemaphoreOptions,
  type TryAcquireOptions,
} from './options.js';
import { onceListened, refuseEventsOfHandles } from './events.js';
import type {
  PoolReports,
  SemaphoreEvents,
  SemaphoreState,
  TryUseResult,
} from './semaphore-types.js';
import { telemetry } from './telemetry.js';
import { type BudgetOptions, checkBudgetName, resolveBudget } from './arguments/budgets.js';
import { integer } from './arguments/numbers.js';
import { safeCause } from './arguments/safe-cause.js';
import { backendUnreachable, limitMismatch, storedLimit } from './arguments/warnings.js';
import { withoutCredentials } from './arguments/credentials.js';
import { showAs } from './arguments/shown.js';
import { backendFor, checkMostPermits, checkRateTarget, checkRequest } from './arguments/target.js';
import { rangeError } from './arguments/validation.js';

interface PermitsOf {
  readonly semaphore: Semaphore;
  readonly permits: number;
}

/**
 * A counting semaphore: at most `limit` permits at once, in every process that uses the same name
 * on the same backend. One object serves any number of callers.
 */
export class Semaphore extends EventEmitter<SemaphoreEvents> {
  static {
    showAs(Semaphore, ({ name, limit }) => ({ name, limit }));
  }

  /** As given to the constructor. */
  readonly name: string;
  readonly #link: SemaphoreLink;
  readonly #toHandle = (lease: Lease | undefined): Handle => this.#keep(lease);
  /** No warning has credentials. */
  readonly #warn: Warn = (code, message, cause) => {
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

  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), a
   *   `Backend`, or an array of clients of independent masters (a quorum)
   * @param name any text of 1 to 512 bytes; the same prefix and name mean the same permits, in
   *   every process
   * @param options the limit, which is required, and options with defaults
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: RedisTarget | Backend, name: string, options: SemaphoreOptions) {
    super();
    const backend = backendOf(target);
    this.name = checkName(name);
    const resolved = resolveOptions(options, backend.clock);
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
  static pooled(pool: PoolReports, ...args: ConstructorParameters<typeof Semaphore>): Semaphore {
    const semaphore = new Semaphore(...args);
    semaphore.#pool = pool;
    semaphore.#watchCalls();
    return semaphore;
  }

  /**
   * The limit that counts, as in the last reply, also to `inspect`: the limit that `setLimit`
   * stored, else the constructor's.
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
  acquire(options?: number | AcquireOptions): Promise<Handle> {
    if (!telemetry.acquire.hasSubscribers) return this.#acquire(options);
    const { timeout = Infinity, permits } =
      typeof options === 'number' ? { timeout: options } : (options ?? {});
    return this.#traced(() => this.#acquire(options), permits, timeout);
  }

  #traced<R>(call: () => Promise<R>, permits = 1, timeout?: number): Promise<R> {
    return telemetry.acquire.tracePromise(call, { name: this.name, permits, timeout });
  }

  // Not an async function, because each promise costs time on this path.
  #acquire(options?: number | AcquireOptions): Promise<Handle> {
    try {
      this.#assertOpen();
      const params = resolveAcquire(options, undefined, this.#link.options.budgets);
      params.signal?.throwIfAborted();
      checkRequest(this.#link.backend, params);
      // A user's clock may throw.
      return this.#link.acquire(params).then(this.#toHandle);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * One try, in one round trip: all that it asks for, or nothing. Gives null when no permit is
   * free, other requests are before it, the rate or a budget does not allow it now, or its group
   * holds `groupLimit` permits.
   * @param options `permits`: how many to take, 1 to the limit, default 1; `group` and `cost` as in
   *   `AcquireOptions`
   * @throws {TypeError | RangeError} for wrong options, and when it asks for more permits than the
   *   limit in the backend
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  tryAcquire(options?: TryAcquireOptions): Promise<Handle | null> {
    if (!telemetry.acquire.hasSubscribers) return this.#tryAcquire(options);
    return this.#traced(() => this.#tryAcquire(options), options?.permits);
  }

  async #tryAcquire(options: TryAcquireOptions | undefined): Promise<Handle | null> {
    this.#assertOpen();
    const wanted = resolveTry(options, this.#link.options.budgets);
    checkRequest(this.#link.backend, wanted);
    const lease = await this.#link.acquire(wanted);
    return lease === undefined ? null : this.#keep(lease);
  }

  /**
   * @internal One call for permits of several semaphores, all or none. Null: a permit was not free.
   *   `unable`: no single call can take them all.
   */
  static tryTogether(
    shares: readonly PermitsOf[],
    signal: AbortSignal,
  ): Promise<readonly Handle[] | null> | 'unable' {
    const wanted = shares.map(({ semaphore, permits }) => {
      semaphore.#assertOpen();
      checkMostPermits(semaphore.#link.backend, permits);
      return { link: semaphore.#link, permits };
    });
    const leases = acquireTogether(wanted, signal);
    if (leases === 'unable') return leases;
    const handles = leases.then((taken) =>
      taken === undefined ? null : Semaphore.#keepEach(shares, taken),
    );
    if (!telemetry.acquire.hasSubscribers) return handles;
    // As a call of each semaphore, with its handle as the result.
    const traced = shares.map(({ semaphore, permits }, i) =>
      semaphore.#traced(async () => (await handles)?.[i] ?? null, permits),
    );
    return Promise.all(traced).then(() => handles);
  }

  static #keepEach(shares: readonly PermitsOf[], leases: readonly Lease[]): Handle[] {
    const closed = shares.find(({ semaphore }) => semaphore.#isClosed);
    if (closed === undefined) return shares.map(({ semaphore }, i) => semaphore.#keep(leases[i]));
    // The semaphore was closed meanwhile. A lease without a handle would be extended for ever.
    for (const lease of leases) lease.drop();
    throw new ClosedError(closed.semaphore.name);
  }

  /**
   * Runs `fn` with a handle, then releases the handle, also when `fn` throws. Resolves or rejects
   * as `fn` does. A failed release changes neither: it becomes the `cause` (or `suppressed`) of an
   * error of `fn`, and beside a result it is a `warning`.
   * @param fn gets the handle; its `signal` aborts when the permit is lost
   * @param options as `acquire`
   * @throws as `acquire`, and what `fn` throws
   */
  async use<T>(
    fn: (handle: Handle) => T | Promise<T>,
    options?: number | AcquireOptions,
  ): Promise<T> {
    checkFunction('fn', fn);
    return runHolding(await this.acquire(options), fn);
  }

  /**
   * As `use`, but runs `fn` only if a permit is free now: for a job that starts on every replica
   * and must run on one.
   * @throws as `tryAcquire`, and what `fn` throws
   */
  async tryUse<T>(
    fn: (handle: Handle) => T | Promise<T>,
    options?: TryAcquireOptions,
  ): Promise<TryUseResult<T>> {
    checkFunction('fn', fn);
    const handle = await this.tryAcquire(options);
    if (handle === null) return { ran: false };
    return { ran: true, result: await runHolding(handle, fn) };
  }

  /**
   * Gives the limit, the rate and when it allows the next permit, the permits held and the requests
   * waiting, with their labels. It does not count expired tickets and requests. It reads a large
   * semaphore in pages.
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or takes longer than min(ttl, 5000) ms
   */
  async inspect(): Promise<SemaphoreState> {
    return { name: this.name, ...(await this.#ask((admin) => admin.inspect())) };
  }

  /**
   * Changes the limit for every process that uses this name, whatever limit its object was made
   * with. It is effective at their next call. When the limit grows, waiters get the new permits at
   * once. When it shrinks, holders keep their permits. 0 pauses the semaphore: holders keep their
   * permits, and requests wait until another limit is set. Redis keeps the limit until a day after
   * the last use.
   * @param limit an integer, minimum 0; undefined removes the stored limit, so that each object
   *   uses its own limit again
   * @throws {RangeError | TypeError} for anything else
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
    const { limit = 0, refused } = await this.#ask((admin) => admin.addPermits(delta));
    if (refused !== true) return limit;
    throw rangeError(
      `delta: expected a number that leaves ${JSON.stringify(this.name)}, whose limit is ${limit}, with a limit of 0 to 2^53 - 1, got ${delta}`,
    );
  }

  /**
   * Changes the rate for every process that uses this name, from its next call on, whatever rate
   * its object was made with. Permits that were granted before still count. Waiters get at once the
   * permits that the new rate allows. Redis keeps the rate until a day after the last use.
   * @param rate as the option; undefined: no rate, whatever rate objects were made with
   * @throws {RangeError | TypeError} for anything else, and on several masters
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async setRate(rate: RateOptions | undefined): Promise<void> {
    const resolved = rate === undefined ? undefined : resolveRate(rate);
    checkRateTarget(this.#link.backend);
    await this.#ask((admin) => admin.setRate(resolved));
  }

  /**
   * Changes a budget for every process that uses this name, as `setRate` changes the rate.
   * @param name as in the option `budgets`
   * @param budget as in the option; undefined: no such budget, whatever objects were made with
   * @throws {RangeError} when there are four budgets of other names already, stored or in the
   *   options of this object; nothing is changed
   * @throws as `setRate` otherwise
   */
  async setBudget(name: string, budget: BudgetOptions | undefined): Promise<void> {
    checkBudgetName('name', name);
    const resolved = budget === undefined ? undefined : resolveBudget('budget', budget);
    checkRateTarget(this.#link.backend, 'budgets');
    await this.#ask((admin) => admin.setRate(resolved, name));
  }

  /**
   * Changes how many permits each group may hold at once, for every process that uses this name,
   * whatever `groupLimit` its object was made with. Holders keep their permits. Redis keeps the
   * number until a day after the last use.
   * @param limit as the option; undefined: any number, whatever objects were made with
   * @throws as `setRate`
   */
  async setGroupLimit(limit: number | undefined): Promise<void> {
    resolveGroupLimit(limit);
    checkRateTarget(this.#link.backend, 'groupLimit');
    await this.#ask((admin) => admin.setGroupLimit(limit));
  }

  /**
   * Takes over a ticket that another process acquired: from now on this process extends it. The
   * ticket keeps its slots and gets a new fencing token. The former holder learns at its next
   * extension, at the latest, that the ticket is lost. If several processes adopt it, the last one
   * owns it.
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
   * Takes the permits from its handles at once, also while their work still runs. With `drain`,
   * holders first have that time to release them. New and waiting requests reject with a
   * `ClosedError` at once. A handle that is still held at the end emits `lost` with reason
   * `closed`, its `signal` aborts, and the next waiter gets its permit. Many hundred handles are
   * released over several turns of the event loop. The client stays open. A second `close()`
   * without `drain` ends the time of the first. Other calls that are under way may succeed, but are
   * not repeated. Resolves when every permit is given back and no call is under way, or after
   * min(ttl, 5000) ms more.
   * @param options `drain` in milliseconds, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  close(options: CloseOptions = {}): Promise<void> {
    try {
      const drain = resolveClose(options);
      if (this.#isClosed && drain === 0) this.#link.endDrain?.();
      this.#isClosed = true;
      this.#stopHazards?.();
      return (this.#closed ??= this.#link.close(drain));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #keep(lease: Lease | undefined): Handle {
    // The semaphore was closed meanwhile. A lease without a handle would be extended for ever.
    if (lease === undefined) throw new ClosedError(this.name);
    if (this.#isClosed) lease.lose('closed');
    this.#assertOpen();
    return Handle.of(lease, this.#warn);
  }

  /** From now on the semaphore warns of problems that failed calls and replies show. */
  #watchCalls(): void {
    this.#link.listener = {
      onOutage: (cause) =>
        this.#warn('BACKEND_UNREACHABLE', backendUnreachable(this.name, cause), cause),
      onReply: () => {
        this.#pool?.onReply();
        this.#noteStoredLimit();
      },
    };
    this.#noteStoredLimit();
    const { limit } = this.#link.options;
    this.#link.onceOtherLimit((other) => {
      this.#warn('LIMIT_MISMATCH', limitMismatch(this.name, limit, other));
    });
  }

  #noteStoredLimit(): void {
    const { limit: stored, options } = this.#link;
    const { limit } = options;
    if (this.#knowsStored || stored === limit) return;
    this.#knowsStored = this.#warn('STORED_LIMIT', storedLimit(this.name, stored, limit));
  }

  #watchForHazards(): void {
    this.#stopHazards = this.#link.backend.onHazard?.(this.#link.key, (message) => {
      this.#warn('NODE_SET', message);
    });
    const found = this.#link.backend.findHazard?.(this.#link.key);
    const onFound = (hazard: string | undefined): void => {
      if (hazard !== undefined) this.#warn('EVICTION', hazard);
    };
    found?.then(onFound).catch(() => undefined);
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
