import type { Keep, KeepableLease, KeptLease, KeptSemaphore } from '../backends/lease-keeper.js';
import type { LostReason } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Notice, Order } from './messages.js';
import type { SharedMoment } from './shared-leases.js';
import { MOST_LEASES, SharedLeases, until } from './shared-leases.js';

/** How often the holders' thread shows that it is alive, in milliseconds at most. */
const LONGEST_BEAT = 1000;

export interface KeptLeasesOptions {
  readonly clock: Clock;
  /** What to add to its monotonic times to get those that all threads share. */
  readonly origin: number;
  /** Milliseconds. */
  readonly maxStall: number;
  send(orders: readonly Order[]): void;
}

/** The leases of this thread that the keeper's thread renews. */
export class KeptLeases {
  readonly shared: SharedLeases = new SharedLeases();
  readonly #options: KeptLeasesOptions;
  readonly #beat: Wakeup;
  readonly #leases = new Map<number, Kept>();
  /** Places that were in use and are free again; behind `#used` all are free. */
  readonly #free: number[] = [];
  #used = 0;
  #semaphores = 0;
  #orders: Order[] = [];
  /** Callers of `extend`, by the numbers of their orders. */
  readonly #extending = new Map<number, (done: boolean) => void>();
  #lastNumber = 0;
  #isOver = false;

  constructor(options: KeptLeasesOptions) {
    this.#options = options;
    this.#beat = new Wakeup(options.clock, false, () => this.#showAlive());
  }

  /** Of what is given no more may cross to the other thread. */
  open({ key, limit, ttl, extendEvery, retry }: KeptSemaphore): Keep {
    const semaphore = { key, limit, ttl, extendEvery, retry };
    const number = (this.#semaphores += 1);
    return (lease) => {
      const place = this.#isOver || extendEvery === 0 ? undefined : this.#takePlace();
      if (place === undefined) return undefined;
      const { id, slots, fencingToken, remaining } = lease;
      const { monotonic, wall } = this.now();
      this.#showAlive();
      this.shared.open(place, { monotonic: monotonic + remaining, wall: wall + remaining });
      const kept = new Kept(this, lease, place);
      this.#leases.set(place, kept);
      const ticket = { id, slots, fencingToken };
      this.#order({ do: 'keep', place, number, semaphore, ticket });
      return kept;
    };
  }

  /** What the keeper's thread says. */
  hear(notice: Notice): void {
    if (notice.what === 'lost') {
      this.#leases.get(notice.place)?.lease.lose(notice.reason);
    } else if (notice.what === 'extended') {
      this.#extending.get(notice.number)?.(notice.done);
      this.#extending.delete(notice.number);
    } else if (notice.what === 'free') {
      for (const place of notice.places) this.#end(place);
      this.#free.push(...notice.places);
    }
  }

  /** There is no other thread any more. */
  end(): void {
    this.#isOver = true;
    this.#beat.stop();
    for (const place of this.#leases.keys()) this.#end(place);
    for (const settle of this.#extending.values()) settle(false);
    this.#extending.clear();
  }

  now(): SharedMoment {
    const { clock, origin } = this.#options;
    return { monotonic: clock.monotonic() + origin, wall: clock.wall() };
  }

  extend(place: number): Promise<boolean> {
    const number = (this.#lastNumber += 1);
    return new Promise((resolve) => {
      this.#extending.set(number, resolve);
      this.#order({ do: 'extend', place, number });
    });
  }

  stop(place: number): void {
    // Before the order arrives, an extension may be about to leave.
    this.shared.stop(place);
    this.#order({ do: 'stop', place });
  }

  #end(place: number): void {
    const kept = this.#leases.get(place);
    this.#leases.delete(place);
    kept?.giveUp();
    if (this.#leases.size === 0) this.#beat.stop();
  }

  #takePlace(): number | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#used === MOST_LEASES) return free;
    this.#used += 1;
    return this.#used - 1;
  }

  /** Before the caller of an `acquire` runs: it may block this thread at once. */
  #order(order: Order): void {
    if (this.#orders.push(order) > 1) return;
    queueMicrotask(() => {
      const orders = this.#orders;
      this.#orders = [];
      if (!this.#isOver) this.#options.send(orders);
    });
  }

  #showAlive(): void {
    const { clock, maxStall, origin } = this.#options;
    const now = clock.monotonic();
    this.shared.beat(now + origin);
    const beat = Math.min(LONGEST_BEAT, maxStall / 4);
    if (!this.#isOver) this.#beat.wakeBy(now + beat, now);
  }
}

class Kept implements KeptLease {
  readonly lease: KeepableLease;
  readonly #leases: KeptLeases;
  readonly #place: number;
  /** Its end as the keeper knew it last: its place may be another lease's by now. */
  #lastEnd: SharedMoment | undefined;

  constructor(leases: KeptLeases, lease: KeepableLease, place: number) {
    this.lease = lease;
    this.#leases = leases;
    this.#place = place;
  }

  get isOver(): boolean {
    return this.#lastEnd !== undefined;
  }

  get left(): number {
    const end = this.#lastEnd ?? this.#leases.shared.end(this.#place);
    return until(end, this.#leases.now());
  }

  get loss(): LostReason | undefined {
    return this.isOver ? undefined : this.#leases.shared.loss(this.#place);
  }

  extend(): Promise<boolean> {
    return this.isOver ? Promise.resolve(false) : this.#leases.extend(this.#place);
  }

  stop(): void {
    if (!this.isOver) this.#leases.stop(this.#place);
  }

  giveUp(): void {
    this.#lastEnd = this.#leases.shared.end(this.#place);
  }
}
