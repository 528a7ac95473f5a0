import type { Keep, KeepableLease, KeptSemaphore } from '../backends/lease-keeper.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Notice, Order } from './messages.js';
import { MOST_LEASES, SharedLeases } from './shared-leases.js';

/** The longest time between two signs of life of the holders' thread, in milliseconds. */
const LONGEST_BEAT = 1000;
/**
 * How long a caller of `extend` waits for the keeper's thread; only a thread that hangs is late.
 */
const LATE_MS = 10_000;

export interface KeptLeasesOptions {
  /** A clock that all threads of the process share. */
  readonly clock: Clock;
  /** Milliseconds. */
  readonly maxStall: number;
  /** Sends in order, and before the caller of an `acquire` runs, because it may block at once. */
  readonly send: (order: Order) => void;
  /** `why`: the keeper's thread cannot renew. Calls no listener at once: one may throw. */
  warn(why: string): void;
}

/** The leases of this thread that the keeper's thread renews. */
export class KeptLeases {
  readonly shared: SharedLeases;
  readonly #options: KeptLeasesOptions;
  readonly #beat: Wakeup;
  /** By index in the shared memory, until the keeper's thread writes no more about the lease. */
  readonly #leases = new Map<number, KeepableLease>();
  /** Indexes that were in use and are free again. */
  readonly #free: number[] = [];
  /** The callers of `extend`, by the numbers of their orders. */
  readonly #extending = new Map<number, (done: boolean) => void>();
  #lastNumber = 0;
  /** Warnings that are not repeated. */
  readonly #warned = new Set<string>();
  /** The renewals of the keeper work, as far as this thread knows. */
  #canRenew = true;
  /** The keeper's thread has ended. */
  isOver = false;

  constructor(options: KeptLeasesOptions) {
    this.#options = options;
    this.shared = new SharedLeases(options.clock);
    this.#beat = new Wakeup(options.clock, false, () => this.#showAlive());
  }

  /** Copies only the fields that may cross to the other thread. */
  open({ key, limit, ttl, extendEvery, retry }: KeptSemaphore): Keep {
    const { shared } = this;
    const { clock, send } = this.#options;
    const semaphore = { key, limit, ttl, extendEvery, retry };
    return (lease) => {
      if (this.isOver || extendEvery === 0) return undefined;
      const index = this.#free.pop() ?? this.#leases.size;
      if (index === MOST_LEASES) return this.#warnOnce(`has ${MOST_LEASES} permits already`);
      this.#leases.set(index, lease);
      this.#showAlive();
      shared.setLeft(index, instant(clock), lease.remaining);
      shared.setState(index, 'kept');
      const { id, fencingToken } = lease;
      send({ do: 'keep', index, semaphore, ticket: { id, fencingToken } });
      return {
        left: () => shared.left(index),
        loss: () => shared.loss(index),
        extend: () => this.#extend(index),
        stop: () => {
          // Before the order arrives, an extension may be about to leave.
          shared.setState(index, 'stopped');
          send({ do: 'stop', index });
        },
      };
    };
  }

  /** Takes a notice of the keeper's thread. */
  hear(notice: Notice): void {
    if (this.isOver) return;
    if (notice.what === 'free') return this.#onFree(notice.index);
    if (notice.what === 'extended') {
      this.#extending.get(notice.number)?.(notice.done);
      this.#extending.delete(notice.number);
    } else if (notice.text === undefined) {
      this.#canRenew = true;
    } else {
      this.#stopExtending();
      this.#options.warn(`cannot renew: ${notice.text}`);
    }
  }

  end(): void {
    this.isOver = true;
    for (const lease of this.#leases.values()) lease.takeBack();
    this.#leases.clear();
    this.#beat.stop();
    this.#stopExtending();
  }

  /** Resolves with false when the keeper cannot extend the lease. */
  #extend(index: number): Promise<boolean> {
    if (!this.#canRenew) return Promise.resolve(false);
    const number = (this.#lastNumber += 1);
    this.#options.send({ do: 'extend', index, number });
    const done = new Promise<boolean>((resolve) => this.#extending.set(number, resolve));
    return withTimeout(this.#options.clock, LATE_MS, done).catch(() => {
      this.#extending.delete(number);
      return false;
    });
  }

  #stopExtending(): void {
    this.#canRenew = false;
    for (const settle of this.#extending.values()) settle(false);
    this.#extending.clear();
  }

  #onFree(index: number): void {
    const lease = this.#leases.get(index);
    const [loss, state] = [this.shared.loss(index), this.shared.state(index)];
    this.#leases.delete(index);
    this.#free.push(index);
    if (this.#leases.size === 0) this.#beat.stop();
    lease?.takeBack();
    if (loss !== undefined) lease?.lose(loss);
    // The keeper may use another server or database: an extension by this thread proves it.
    if (state !== 'unseen' || lease === undefined) return;
    const elsewhere = `finds none of ${JSON.stringify(lease.name)}: another server or database?`;
    lease.extend().then(() => this.#warnOnce(elsewhere), ignore);
  }

  #warnOnce(why: string): undefined {
    if (this.#warned.has(why)) return;
    this.#warned.add(why);
    this.#options.warn(why);
  }

  #showAlive(): void {
    const { clock, maxStall } = this.#options;
    const now = clock.monotonic();
    this.shared.beat();
    this.#beat.wakeBy(now + Math.min(LONGEST_BEAT, maxStall / 4), now);
  }
}

/** The lease is over. */
function ignore(): void {}
