import type { Backend, InspectReply, SemaphoreKey } from './backend.js';
import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER } from './clock.js';
import type { Coordinator } from './coordinator.js';
import { AcquireTimeoutError, BackendError, ClosedError } from './errors.js';
import { Handle } from './handle.js';
import type { Lease } from './lease.js';
import type { AcquireOptions, ResolvedOptions, SemaphoreOptions } from './options.js';
import { checkName, checkPermits, resolveAcquire, resolveOptions } from './options.js';
import { PermitRequest } from './permit-request.js';
import { Session } from './session.js';
import type { RedisTarget } from './targets.js';
import { backendOf } from './targets.js';
import { callLimit, NoReplyError } from './time-limit.js';

/** What `inspect` tells: permits held, requests waiting, and who. */
export interface SemaphoreState extends InspectReply {
  readonly name: string;
}

interface Wait {
  readonly permits: number;
  readonly queue: boolean;
  /** Milliseconds until it is given up; Infinity: never. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  /** What it then rejects with. */
  onTimeout(request: PermitRequest, waited: number): Error;
}

/**
 * A counting semaphore: at most `limit` permits at once, in every process that uses the same name on the
 * same backend. One object serves any number of callers.
 */
export class Semaphore {
  readonly name: string;
  readonly limit: number;
  readonly #options: ResolvedOptions;
  readonly #key: SemaphoreKey;
  readonly #backend: Backend;
  readonly #session: Session;
  readonly #coordinator: Coordinator;
  readonly #requests = new Set<PermitRequest>();
  readonly #leases = new Set<Lease>();
  #closed: Promise<void> | undefined;

  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), or a `Backend`
   * @param name 1 to 512 bytes of anything
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: RedisTarget | Backend, name: string, options: SemaphoreOptions) {
    this.#backend = backendOf(target);
    this.name = checkName(name);
    this.#options = resolveOptions(options, this.#backend.clock);
    this.limit = this.#options.limit;
    this.#key = { prefix: this.#options.prefix, name };
    this.#session = Session.of(this.#backend, this.#options.clock);
    this.#coordinator = this.#session.coordinator(this.#key, this.#options);
  }

  /**
   * Waits for a permit. With no permit free the request is queued, in order of arrival over all processes.
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or `AcquireOptions`
   * @throws {AcquireTimeoutError} when none came free in time; its `cause` is the last error of the backend, if any
   * @throws {BackendError} when trying again cannot help: wrong type under a key, no rights, out of memory
   * @throws {ClosedError} when the semaphore is or gets closed
   * @throws the signal's own reason when it aborts
   */
  async acquire(options?: number | AcquireOptions): Promise<Handle> {
    const { timeout, signal, permits } = resolveAcquire(options, this.limit);
    signal?.throwIfAborted();
    const { name } = this;
    const queue = timeout > 0;
    // One try takes a round trip, whatever its timeout says.
    const patience = queue ? timeout : callLimit(this.#options.ttl);
    const timedOut = (request: PermitRequest | undefined, waited: number): AcquireTimeoutError => {
      const attempts = request?.attempts ?? 1;
      return new AcquireTimeoutError({ name, timeout, waited, attempts }, request?.lastError);
    };
    const wait = { permits, queue, timeout: patience, signal, onTimeout: timedOut };
    try {
      const lease = await this.#wait(wait);
      if (lease !== undefined) return this.#hold(lease);
    } catch (error) {
      if (queue || !(error instanceof BackendError)) throw error;
      throw new AcquireTimeoutError({ name, timeout, waited: 0, attempts: 1 }, error.cause);
    }
    throw timedOut(undefined, 0);
  }

  /**
   * One try, one round trip: null when no permit is free or others wait for one.
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async tryAcquire(options: { permits?: number } = {}): Promise<Handle | null> {
    const permits = checkPermits(options.permits ?? 1, this.limit);
    const timeout = callLimit(this.#options.ttl);
    const onTimeout = (request: PermitRequest): BackendError =>
      new BackendError('acquiring failed', request.lastError ?? new NoReplyError(timeout));
    const wait = { permits, queue: false, timeout, signal: undefined, onTimeout };
    const lease = await this.#wait(wait);
    return lease === undefined ? null : this.#hold(lease);
  }

  /**
   * Runs `fn` with a handle and releases it whatever happens. Resolves or rejects as `fn` does: what goes
   * wrong while releasing neither replaces its result nor hides its error.
   * @param options as `acquire`
   */
  async use<T>(
    fn: (handle: Handle) => T | Promise<T>,
    options?: number | AcquireOptions,
  ): Promise<T> {
    const handle = await this.acquire(options);
    try {
      return await fn(handle);
    } finally {
      await handle[Symbol.asyncDispose]();
    }
  }

  /** Limit, permits held, requests waiting, and who; what has expired is not counted. Large ones are read in pages. */
  async inspect(): Promise<SemaphoreState> {
    this.#assertOpen();
    const { key, limit } = { key: this.#key, limit: this.limit };
    const state = await this.#backend.inspect({ key, limit }).catch((error: unknown) => {
      throw new BackendError('inspecting failed', error);
    });
    return { name: this.name, ...state };
  }

  /**
   * Releases its handles, which are told so by `lost` with reason `closed`, and rejects its waiters. The
   * client stays open. Idempotent; never rejects.
   */
  close(): Promise<void> {
    this.#closed ??= this.#doClose();
    return this.#closed;
  }

  /** Closes. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #wait(wait: Wait): Promise<Lease | undefined> {
    this.#assertOpen();
    const { waitLoop } = this.#coordinator;
    const { clock } = this.#options;
    const started = clock.monotonic();
    const { permits, queue, timeout, signal } = wait;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancelTimer();
        signal?.removeEventListener('abort', onAbort);
        this.#requests.delete(request);
      };
      const id = this.#session.newTicketId(permits);
      const ask = { id, permits, wait: queue, deadline: started + timeout };
      const request = new PermitRequest(
        ask,
        (lease) => {
          end();
          if (lease !== undefined) this.#track(lease);
          resolve(lease);
        },
        (error) => {
          end();
          reject(error);
        },
      );
      const onAbort = (): void => waitLoop.abandon(request, signal?.reason);
      const cancelTimer = runAt(clock, request.deadline, () =>
        waitLoop.abandon(request, wait.onTimeout(request, clock.monotonic() - started)),
      );
      signal?.addEventListener('abort', onAbort);
      this.#requests.add(request);
      waitLoop.add(request);
    });
  }

  #hold(lease: Lease): Handle {
    return new Handle(lease, this.#coordinator);
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError(this.name);
  }

  #track(lease: Lease): void {
    this.#leases.add(lease);
    lease.onEnd(() => this.#leases.delete(lease));
  }

  async #doClose(): Promise<void> {
    for (const request of this.#requests) {
      this.#coordinator.waitLoop.abandon(request, new ClosedError(this.name));
    }
    // A lost lease is withdrawn by its coordinator.
    for (const lease of this.#leases) lease.lose('closed');
    await this.#coordinator.drained();
    await this.#session.closeInbox(this.#key.prefix);
  }
}

/** Runs `callback` at a point of monotonic time, however far away. */
function runAt(clock: Clock, at: number, callback: () => void): () => void {
  if (at === Infinity) return () => {};
  let timer: Timer;
  const wait = (): void => {
    const left = at - clock.monotonic();
    if (left <= 0) callback();
    else timer = clock.schedule(wait, Math.min(Math.ceil(left), LONGEST_TIMER), true);
  };
  timer = clock.schedule(wait, Math.min(Math.ceil(at - clock.monotonic()), LONGEST_TIMER), true);
  return () => timer.cancel();
}
