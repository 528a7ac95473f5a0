import { EventEmitter } from 'node:events';
import type { Backend, InspectReply, SemaphoreKey } from './backend.js';
import type { Coordinator } from './coordinator.js';
import { AcquireTimeoutError, BackendError, ClosedError } from './errors.js';
import { Handle } from './handle.js';
import type { Lease, LeaseKeeper } from './lease.js';
import type { AcquireOptions, ResolvedOptions, SemaphoreOptions } from './options.js';
import {
  checkFunction,
  checkName,
  checkPermits,
  resolveAcquire,
  resolveOptions,
} from './options.js';
import type { Ask } from './permit-request.js';
import { PermitRequest } from './permit-request.js';
import { Session } from './session.js';
import type { RedisTarget } from './targets.js';
import { backendOf } from './targets.js';
import { callLimit, withinLimit } from './time-limit.js';

/** What `inspect` tells: permits held, requests waiting, and who. */
export interface SemaphoreState extends InspectReply {
  readonly name: string;
}

/** Something that does not keep the semaphore from working now but endangers its promises. */
export interface SemaphoreWarning {
  readonly code: 'EVICTION';
  readonly message: string;
}

/** Every event and what its listeners get. */
export interface SemaphoreEvents {
  /** `EVICTION`: the server may evict a semaphore's keys. Looked up once, when the first listener is added, if the user has the right to INFO. */
  warning: [warning: SemaphoreWarning];
}

interface Outcomes {
  readonly ask: Ask;
  readonly resolve: (handle: Handle) => void;
  readonly reject: (error: unknown) => void;
  readonly onRefused: (request: PermitRequest) => void;
  /** What a request is given up with when its time is over. */
  readonly late: (request: PermitRequest) => Error;
}

/**
 * A counting semaphore: at most `limit` permits at once, in every process that uses the same name on the
 * same backend. One object serves any number of callers.
 */
export class Semaphore extends EventEmitter<SemaphoreEvents> {
  readonly name: string;
  readonly limit: number;
  readonly #options: ResolvedOptions;
  readonly #key: SemaphoreKey;
  readonly #backend: Backend;
  readonly #session: Session;
  readonly #coordinator: Coordinator;
  readonly #requests = new Set<PermitRequest>();
  readonly #leases = new Set<Lease>();
  readonly #holder: LeaseKeeper = { onLeaseEnd: (lease) => void this.#leases.delete(lease) };
  #closed: Promise<void> | undefined;

  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), or a `Backend`
   * @param name 1 to 512 bytes of anything
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: RedisTarget | Backend, name: string, options: SemaphoreOptions) {
    super();
    this.#backend = backendOf(target);
    this.name = checkName(name);
    this.#options = resolveOptions(options, this.#backend.clock);
    this.limit = this.#options.limit;
    this.#key = { prefix: this.#options.prefix, name };
    this.#session = Session.of(this.#backend, this.#options.clock);
    this.#coordinator = this.#session.coordinator(this.#key, this.#options);
    this.#lookOnceForHazards();
  }

  /**
   * Waits for a permit. With no permit free the request is queued, in order of arrival over all processes.
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or `AcquireOptions`
   * @throws {AcquireTimeoutError} when none came free in time; its `cause` is the last error of the backend, if any
   * @throws {BackendError} when trying again cannot help: wrong type under a key, no rights, out of memory
   * @throws {ClosedError} when the semaphore is or gets closed
   * @throws the signal's own reason when it aborts
   */
  acquire(options?: number | AcquireOptions): Promise<Handle> {
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      const { timeout, signal, permits } = resolveAcquire(options, this.limit);
      signal?.throwIfAborted();
      const wait = timeout > 0;
      // One try takes a round trip, whatever its timeout says.
      const patience = wait ? timeout : callLimit(this.#options.ttl);
      const late = (request: PermitRequest): AcquireTimeoutError => {
        const { name } = this;
        const now = this.#options.clock.monotonic();
        const { started, attempts } = request;
        const details = { name, timeout, waited: now - started, attempts };
        return new AcquireTimeoutError(details, request.trouble(now));
      };
      this.#request({
        ask: { permits, wait, timeout: patience, signal },
        resolve,
        reject,
        onRefused: (request) => reject(late(request)),
        late,
      });
    });
  }

  /**
   * One try, one round trip: null when no permit is free or others wait for one.
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  tryAcquire(options: { permits?: number } = {}): Promise<Handle | null> {
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      const permits = checkPermits(options.permits ?? 1, this.limit);
      const timeout = callLimit(this.#options.ttl);
      this.#request({
        ask: { permits, wait: false, timeout, signal: undefined },
        resolve,
        reject,
        onRefused: () => resolve(null),
        late: (request) =>
          new BackendError('acquiring failed', request.trouble(this.#options.clock.monotonic())),
      });
    });
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
    checkFunction('fn', fn);
    const handle = await this.acquire(options);
    try {
      return await fn(handle);
    } finally {
      await handle[Symbol.asyncDispose]();
    }
  }

  /**
   * Limit, permits held, requests waiting, and who; what has expired is not counted. Large ones are read in pages.
   * @throws {BackendError} when the backend fails or takes longer than min(ttl, 5000) ms
   */
  async inspect(): Promise<SemaphoreState> {
    this.#assertOpen();
    const { key, limit } = { key: this.#key, limit: this.limit };
    const { clock, ttl } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(new BackendError('inspecting failed', error));
      const settled = this.#backend
        .inspect({ key, limit })
        .then((state) => resolve({ name: this.name, ...state }), fail);
      void withinLimit(clock, callLimit(ttl), settled, fail);
    });
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

  #request({ ask, resolve, reject, onRefused, late }: Outcomes): void {
    const { waitLoop } = this.#coordinator;
    const id = this.#session.newTicketId(ask.permits);
    const request = new PermitRequest(id, ask, this.#options.clock, {
      onGranted: (granted, lease) => {
        this.#requests.delete(granted);
        this.#leases.add(lease);
        lease.heldBy(this.#holder);
        resolve(new Handle(lease, this.#coordinator));
      },
      onRefused: (refused) => {
        this.#requests.delete(refused);
        onRefused(refused);
      },
      onFailed: (failed, error) => {
        this.#requests.delete(failed);
        reject(error);
      },
      onDeadline: (overdue) => waitLoop.abandon(overdue, late(overdue)),
      onAborted: (aborted, reason) => waitLoop.abandon(aborted, reason),
    });
    this.#requests.add(request);
    waitLoop.add(request);
  }

  /** The server is asked only where somebody listens, so that an acquire stays one command. */
  #lookOnceForHazards(): void {
    const look = (event: unknown): void => {
      if (event !== 'warning') return;
      EventEmitter.prototype.off.call(this, 'newListener', look);
      void this.#lookForHazards();
    };
    EventEmitter.prototype.on.call(this, 'newListener', look);
  }

  async #lookForHazards(): Promise<void> {
    const hazard = await this.#backend.findHazard?.(this.#key).catch(() => undefined);
    if (hazard === undefined) return;
    // On the next tick, so that what a listener throws is its own uncaught exception.
    process.nextTick(() => this.emit('warning', { code: 'EVICTION', message: hazard }));
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError(this.name);
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
