import type { Keep, KeepableLease, KeptSemaphore } from '../backends/lease-keeper.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Notice, Order } from './messages.js';
import { MOST_LEASES, SharedLeases } from './shared-leases.js';

/** How often the holders' thread shows that it is alive, in milliseconds at most. */
const LONGEST_BEAT = 1000;
/** For how long a caller of `extend` waits for a keeper's thread that hangs; a call takes less. */
const LATE_MS = 10_000;

export interface KeptLeasesOptions {
  /** All threads of the process share it. */
  readonly clock: Clock;
  /** Milliseconds. */
  readonly maxStall: number;
  /** In this order, and before the caller of an `acquire` runs: it may block at once. */
  readonly send: (order: Order) => void;
  /** `why`: the keeper's thread cannot renew. */
  warn(why: string): void;
}

/** The leases of this thread that the keeper's thread renews. */
export class KeptLeases {
  readonly shared: SharedLeases;
  readonly #options: KeptLeasesOptions;
  readonly #beat: Wakeup;
  /** By their places, until that thread has written its last about them. */
  readonly #leases = new Map<number, KeepableLease>();
  /** Places that were in use and are free again. */
  readonly #free: number[] = [];
  /** Callers of `extend`, by the numbers of their orders. */
  readonly #extending = new Map<number, (done: boolean) => void>();
  #lastNumber = 0;
  /** What was said once, and is not said again. */
  readonly #warned = new Set<string>();
  /** Its renewals work, as far as is known. */
  #canRenew = true;
  /** There is no other thread any more. */
  isOver = false;

  constructor(options: KeptLeasesOptions) {
    this.#options = options;
    this.shared = new SharedLeases(options.clock);
    this.#beat = new Wakeup(options.clock, false, () => this.#showAlive());
  }

  /** Of what is given no more may cross to the other thread. */
  open({ key, limit, ttl, extendEvery, retry }: KeptSemaphore): Keep {
    const { shared } = this;
    const { clock, send } = this.#options;
    const semaphore = { key, limit, ttl, extendEvery, retry };
    return (lease) => {
      if (this.isOver || extendEvery === 0) return undefined;
      const place = this.#free.pop() ?? this.#leases.size;
      if (place === MOST_LEASES) return this.#warnOnce(`has ${MOST_LEASES} permits already`);
      this.#leases.set(place, lease);
      this.#showAlive();
      shared.setLeft(place, instant(clock), lease.remaining);
      shared.setState(place, 'kept');
      const { id, fencingToken } = lease;
      send({ do: 'keep', place, semaphore, ticket: { id, fencingToken } });
      return {
        left: () => shared.left(place),
        loss: () => shared.loss(place),
        extend: () => this.#extend(place),
        stop: () => {
          // Before the order arrives, an extension may be about to leave.
          shared.setState(place, 'stopped');
          send({ do: 'stop', place });
        },
      };
    };
  }

  /** What the keeper's thread says. */
  hear(notice: Notice): void {
    if (this.isOver) return;
    if (notice.what === 'free') return this.#onFree(notice.place);
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

  /** Resolves with false when the keeper cannot. */
  #extend(place: number): Promise<boolean> {
    if (!this.#canRenew) return Promise.resolve(false);
    const number = (this.#lastNumber += 1);
    this.#options.send({ do: 'extend', place, number });
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

  #onFree(place: number): void {
    const lease = this.#leases.get(place);
    const [loss, state] = [this.shared.loss(place), this.shared.state(place)];
    this.#leases.delete(place);
    this.#free.push(place);
    if (this.#leases.size === 0) this.#beat.stop();
    lease?.takeBack();
    if (loss !== undefined) lease?.lose(loss);
    // The keeper may have looked elsewhere: an extension by this thread shows that.
    if (state !== 'unseen' || lease === undefined) return;
    const elsewhere = `finds none of ${JSON.stringify(lease.name)}: another server or database?`;
    lease.extend().then(() => this.#warnOnce(elsewhere), ignore);
  }

  /** On the next tick: a lease is being granted, and a listener may throw. */
  #warnOnce(why: string): undefined {
    if (this.#warned.has(why)) return;
    this.#warned.add(why);
    process.nextTick(() => this.#options.warn(why));
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
