import { EventEmitter } from 'node:events';
import type { Backend, SemaphoreKey } from './backends/backend.js';
import { checkTicketId } from './backends/ticket-id.js';
import type { RedisTarget } from './clients.js';
import { backendOf } from './clients.js';
import type { Lease } from './core/lease.js';
import { LocalPermits } from './core/local-permits.js';
import { outageMessage } from './core/outage-watch.js';
import { acquireTogether } from './core/together.js';
import type { HeldHere } from './errors.js';
import { ClosedError, HandleLostError } from './errors.js';
import type { HandleData, Warn } from './handle.js';
import { checkHandleData, Handle, runHolding } from './handle.js';
import type {
  AcquireOptions,
  CloseOptions,
  RateOptions,
  ResolvedOptions,
  SemaphoreOptions,
  TryAcquireOptions,
} from './options.js';
import {
  checkFunction,
  checkName,
  checkRateTarget,
  checkTarget,
  resolveAcquire,
  resolveClose,
  resolveGroupLimit,
  resolveOptions,
  resolveRate,
  resolveTry,
  withReplicas,
} from './options.js';
import { onceListened, refuseEventsOfHandles } from './events.js';
import type {
  PoolReports,
  SemaphoreEvents,
  SemaphoreState,
  SemaphoreWarning,
  TryUseResult,
} from './semaphore-types.js';
import { telemetry, traceEach } from './telemetry.js';
import type { BudgetOptions } from './arguments/budgets.js';
import { checkBudgetName, resolveBudget } from './arguments/budgets.js';
import { integer } from './arguments/numbers.js';
import { safeCause } from './arguments/safe-cause.js';
import { storedLimitMessage } from './arguments/stored-limit.js';
import { quoted, showAs, withoutCredentials } from './arguments/shown.js';
import { checkMostPermits, checkRequest } from './arguments/target.js';
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
  readonly #options: ResolvedOptions;
  readonly #key: SemaphoreKey;
  readonly #backend: Backend;
  readonly #permits: LocalPermits;
  readonly #toHandle = (lease: Lease | undefined): Handle => this.#keep(lease);
  /** No warning has credentials. */
  readonly #warn: Warn = (code, message, cause) => {
    const warning = { code, message: withoutCredentials(message) };
    return this.#report(cause === undefined ? warning : { ...warning, cause: safeCause(cause) });
  };
  /** Set before close() calls any listener, so that listeners find it closed. */
  #isClosed = false;
  #closed: Promise<void> | undefined;
  #stopHazards: (() => void) | undefined;
  #pool: PoolReports | undefined;
  /** Whether its user knows that a limit is stored: from a warning, or by storing one here. */
  #knowsStored = false;

  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), a
   *   `Backend`, or an array of clients of independent masters (a quorum)
   * @param name 1 to 512 bytes of anything; the same prefix and name mean the same permits, in
   *   every process
   * @param options the limit, which is required, and what has defaults
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: RedisTarget | Backend, name: string, options: SemaphoreOptions) {
    super();
    this.#backend = backendOf(target);
    this.name = checkName(name);
    this.#options = resolveOptions(options, this.#backend.clock);
    checkTarget(this.#backend, this.#options);
    this.#key = { prefix: this.#options.prefix, name: this.name };
    const backend = withReplicas(this.#backend, this.#options);
    this.#permits = new LocalPermits(backend, this.#key, this.#options);
    EventEmitter.prototype.on.call(this, 'newListener', refuseEventsOfHandles);
    // The server is asked only while a listener exists, so that an acquire stays one command.
    onceListened(this, 'warning', () => {
      if (this.#isClosed) return;
      this.#watchCalls();
      this.#watchForHazards();
    });
  }

  /** @internal A semaphore whose warnings are for `pool` alone. */
  static pooled(pool: PoolReports, ...args: ConstructorParameters<typeof Semaphore>): Semaphore {
    const semaphore = new Semaphore(...args);
    semaphore.#pool = pool;
    semaphore.#watchCalls();
    return semaphore;
  }

  /**
   * The limit that counts, as of the last reply, also to `inspect`: what `setLimit` stored, else
   * the one given to the constructor.
   */
  get limit(): number {
    return this.#permits.link.limit;
  }

  /** @internal What this process holds of it. */
  get heldHere(): HeldHere | undefined {
    const { link } = this.#permits;
    return link.client.registry.heldHere(link.place);
  }

  /**
   * Waits for a permit. With no permit free the request is queued, in one order over all processes:
   * by priority, then fair shares of groups, then arrival.
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or
   *   `AcquireOptions`
   * @throws {AcquireTimeoutError} when none came free in time; its `cause` is the last error of the
   *   backend, if any
   * @throws {QueueFullError} when `maxWaiting` requests wait already
   * @throws {BackendError} when trying again cannot help: wrong type under a key, no rights, out of
   *   memory
   * @throws {TypeError | RangeError} for wrong options, and when more permits are wanted than the
   *   limit, as the backend has it
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws the signal's own reason when it aborts
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

  // No async function: on this path each promise counts.
  #acquire(options?: number | AcquireOptions): Promise<Handle> {
    try {
      this.#assertOpen();
      const params = resolveAcquire(options, undefined, this.#options.budgets);
      params.signal?.throwIfAborted();
      checkRequest(this.#backend, params);
      // A clock of the user's own may throw.
      return this.#permits.acquire(params).then(this.#toHandle);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * One try, one round trip: null when no permit is free, others wait for one, or the
   * rate allows none now.
   * @param options `permits`: how many to take, 1 to the limit, default 1
   * @throws {TypeError | RangeError} for wrong options, and when more permits are wanted than the
   *   limit, as the backend has it
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  tryAcquire(options?: TryAcquireOptions): Promise<Handle | null> {
    if (!telemetry.acquire.hasSubscribers) return this.#tryAcquire(options);
    return this.#traced(() => this.#tryAcquire(options), options?.permits);
  }

  async #tryAcquire(options: TryAcquireOptions | undefined): Promise<Handle | null> {
    this.#assertOpen();
    const permits = resolveTry(options);
    checkMostPermits(this.#backend, permits);
    const lease = await this.#permits.acquire({ permits });
    return lease === undefined ? null : this.#keep(lease);
  }

  /**
   * @internal One call for permits of several semaphores, all or none. Null: one was not free.
   *   `unable`: no single call can do it.
   */
  static tryTogether(
    shares: readonly PermitsOf[],
    signal: AbortSignal,
  ): Promise<readonly Handle[] | null> | 'unable' {
    const wanted = shares.map(({ semaphore, permits }) => {
      semaphore.#assertOpen();
      checkMostPermits(semaphore.#backend, permits);
      return { local: semaphore.#permits, permits };
    });
    const leases = acquireTogether(wanted, signal);
    if (leases === 'unable') return leases;
    const handles = leases.then((taken) =>
      taken === undefined ? null : Semaphore.#keepEach(shares, taken),
    );
    if (!telemetry.acquire.hasSubscribers) return handles;
    const contexts = shares.map(({ semaphore: { name }, permits }) => {
      return { name, permits, timeout: undefined };
    });
    return traceEach(contexts, handles);
  }

  static #keepEach(shares: readonly PermitsOf[], leases: readonly Lease[]): Handle[] {
    const closed = shares.find(({ semaphore }) => semaphore.#isClosed);
    if (closed === undefined) return shares.map(({ semaphore }, i) => semaphore.#keep(leases[i]));
    // Closed meanwhile: a lease without a handle would be extended for ever.
    for (const lease of leases) lease.drop();
    throw new ClosedError(closed.semaphore.name);
  }

  /**
   * Runs `fn` with a handle and releases it whatever happens. Resolves or rejects as `fn` does: a
   * release that fails beside an error of `fn` is that error's `cause` (or `suppressed`), beside a
   * result a `warning`, and changes neither.
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
   * Runs `fn` only if a permit is free now, otherwise as `use`: for a job that starts on every
   * replica but must run on one.
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
   * Limit, rate and when it allows the next permit, permits held, requests waiting, with their
   * labels; what has expired is not counted. Large ones are read in pages.
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or takes longer than min(ttl, 5000) ms
   */
  async inspect(): Promise<SemaphoreState> {
    this.#assertOpen();
    return { name: this.name, ...(await this.#permits.admin.inspect()) };
  }

  /**
   * Changes the limit for every process that uses this name, whatever limit it was made with; it
   * is effective at their next call. When it grows, waiters get the new permits at once. When it
   * shrinks, holders keep their permits. 0 pauses the semaphore: holders keep their permits, and
   * requests wait until another limit is set. Kept until a day after the last use.
   * @param limit an integer, minimum 0; undefined removes the stored limit: the limit that each
   *   object was made with counts again
   * @throws {RangeError | TypeError} for anything else
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async setLimit(limit: number | undefined): Promise<void> {
    if (limit !== undefined) integer('limit', limit, 0);
    this.#assertOpen();
    this.#knowsStored = true;
    await this.#permits.admin.setLimit(limit);
  }

  /**
   * Changes the limit by a number, in one step: no change of another process is overwritten. It
   * starts from the limit that counts: the stored limit, else the limit of this object. As
   * `setLimit` otherwise.
   * @param delta an integer; negative takes permits away
   * @returns the new limit
   * @throws {RangeError} when the limit would be below 0 or above 2^53 - 1: nothing is changed
   * @throws {TypeError} for anything that is no number
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms: ask
   *   `inspect` for the limit
   */
  async addPermits(delta: number): Promise<number> {
    integer('delta', delta, -Number.MAX_SAFE_INTEGER);
    this.#assertOpen();
    this.#knowsStored = true;
    const { link, admin } = this.#permits;
    const { limit = 0, refused } = await admin.addPermits(delta, link.client.registry.newId(1));
    if (refused !== true) return limit;
    throw rangeError(
      `delta: expected a number that leaves ${JSON.stringify(this.name)}, whose limit is ${limit}, with a limit of 0 to 2^53 - 1, got ${delta}`,
    );
  }

  /**
   * Changes the rate for every process that uses this name, from its next call on, whatever rate it
   * was made with. What was used of the rate before stays used; what the new one allows is granted
   * at once. Kept until a day after the last use.
   * @param rate as the option; undefined: there is none, whatever `rate` processes were made with
   * @throws {RangeError | TypeError} for anything else, and on several masters
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async setRate(rate: RateOptions | undefined): Promise<void> {
    const resolved = rate === undefined ? undefined : resolveRate(rate);
    checkRateTarget(this.#backend);
    this.#assertOpen();
    await this.#permits.admin.setRate(resolved);
  }

  /**
   * Changes a budget for every process that uses this name, as `setRate` does the rate.
   * @param name as in the option `budgets`
   * @param budget as in the option; undefined: there is none, whatever processes were made with
   * @throws {RangeError} when four budgets of other names count already, or are options of this
   *   object: nothing is changed
   * @throws as `setRate` otherwise
   */
  async setBudget(name: string, budget: BudgetOptions | undefined): Promise<void> {
    checkBudgetName('name', name);
    const resolved = budget === undefined ? undefined : resolveBudget('budget', budget);
    checkRateTarget(this.#backend, 'budgets');
    this.#assertOpen();
    await this.#permits.admin.setRate(resolved, name);
  }

  /**
   * Changes how many permits each group may hold at once, for every process that uses this name,
   * whatever `groupLimit` it was made with. Holders keep their permits. Kept until a day after the
   * last use.
   * @param limit as the option; undefined: any number, whatever processes were made with
   * @throws as `setRate`
   */
  async setGroupLimit(limit: number | undefined): Promise<void> {
    resolveGroupLimit(limit);
    checkRateTarget(this.#backend, 'groupLimit');
    this.#assertOpen();
    await this.#permits.admin.setGroupLimit(limit);
  }

  /**
   * Takes over a ticket that was acquired elsewhere: from now on it is extended here. It keeps its
   * slots and gets a new fencing token. Its former holder finds it lost at its next extension at
   * the latest; the latest of several adopters wins.
   * @param ticket what `handle.toJSON()` gave
   * @throws {HandleLostError} with reason `missing` when the ticket is gone
   * @throws {TypeError} when it is not the data of a handle of this semaphore
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async adopt(ticket: HandleData): Promise<Handle> {
    const { id, slots } = checkHandleData(ticket, this.name);
    this.#assertOpen();
    const adopting = this.#adopt(id, slots.length);
    this.#permits.releases.drainAfter(adopting);
    return adopting;
  }

  async #adopt(id: string, permits: number): Promise<Handle> {
    const lease = await this.#permits.adopt(id, permits);
    if (lease === undefined) throw new HandleLostError(this.name, id, 'missing');
    return this.#keep(lease);
  }

  /**
   * An operator's tool: takes a ticket from its holder and gives its permits to the next waiters.
   * The holder's handle is lost with reason `revoked`, at once where a message reaches it, else at
   * its next extension.
   * @param ticketId as `inspect` shows it
   * @returns false when there is no such ticket; true also when it was revoked a moment ago
   * @throws {TypeError} when it is no id of a ticket
   * @throws {ClosedError} when the semaphore is closed, or is closed meanwhile
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async revoke(ticketId: string): Promise<boolean> {
    checkTicketId(ticketId);
    this.#assertOpen();
    return this.#permits.revoke(ticketId);
  }

  /**
   * Takes the permits from its handles at once, also while their work still runs; with `drain`,
   * holders first get that time to release them. New and waiting requests are rejected with a
   * `ClosedError` at once. A handle that is still held at the end emits `lost` with reason
   * `closed`, its `signal` aborts, and the next waiter gets its permit. Where they are more than
   * some hundred, the others follow in the next turns of the event loop. The client stays open. A
   * second `close()` without `drain` ends the first one's time. Other calls that are under way may
   * succeed, but are not tried again. Resolves when all is given back and no call is under way, or
   * after min(ttl, 5000) ms more.
   * @param options `drain` in milliseconds, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  close(options: CloseOptions = {}): Promise<void> {
    let drain: number;
    try {
      drain = resolveClose(options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#closed !== undefined && drain === 0) this.#permits.link.endDrain();
    this.#closed ??= this.#doClose(drain);
    return this.#closed;
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #keep(lease: Lease | undefined): Handle {
    // Closed meanwhile: a lease without a handle would be extended for ever.
    if (lease === undefined) throw new ClosedError(this.name);
    if (this.#isClosed) lease.lose('closed');
    this.#assertOpen();
    return Handle.of(lease, this.#warn);
  }

  /** From now on it warns of what failed calls and replies show. */
  #watchCalls(): void {
    this.#permits.waiters.outage.listener = {
      onOutage: (cause) =>
        this.#warn('BACKEND_UNREACHABLE', outageMessage(this.name, cause), cause),
      onReply: () => {
        this.#pool?.onReply();
        this.#noteStoredLimit();
      },
    };
    this.#noteStoredLimit();
    this.#permits.link.onceOtherLimit((otherLimit) => {
      this.#warn(
        'LIMIT_MISMATCH',
        `${quoted(this.name)} is used with limit ${this.#options.limit} here and ${otherLimit} elsewhere: each process obeys its own until setLimit stores one`,
      );
    });
  }

  #noteStoredLimit(): void {
    const stored = this.#permits.link.limit;
    const { limit } = this.#options;
    if (this.#knowsStored || stored === limit) return;
    this.#knowsStored = this.#warn('STORED_LIMIT', storedLimitMessage(this.name, stored, limit));
  }

  /** @returns whether a listener gets it */
  #report(warning: SemaphoreWarning): boolean {
    if (this.#pool !== undefined) return this.#pool.onWarning(warning);
    // On the next tick, so that what a listener throws is its own uncaught exception.
    process.nextTick(() => this.emit('warning', warning));
    return true;
  }

  #watchForHazards(): void {
    this.#stopHazards = this.#backend.onHazard?.(this.#key, (message) => {
      this.#warn('NODE_SET', message);
    });
    const found = this.#backend.findHazard?.(this.#key);
    const onFound = (hazard: string | undefined): void => {
      if (hazard !== undefined) this.#warn('EVICTION', hazard);
    };
    found?.then(onFound).catch(() => undefined);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ClosedError(this.name);
  }

  #doClose(drain: number): Promise<void> {
    this.#isClosed = true;
    this.#stopHazards?.();
    return this.#permits.close(drain);
  }
}
