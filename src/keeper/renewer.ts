import type { Backend } from '../backends/backend.js';
import type { KeptSemaphore } from '../backends/lease-keeper.js';
import { Client } from '../core/client.js';
import type { Call } from '../core/batcher.js';
import type { Verdict } from '../core/operations.js';
import { Lease } from '../core/lease.js';
import { Releases } from '../core/release.js';
import { SemaphoreLink } from '../core/semaphore-link.js';
import { WeakGroups } from '../core/weak-groups.js';
import type { HandleLostError } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { windowOf } from '../time/server-clock.js';
import type { KeepOrder, Notice, Order } from './messages.js';
import type { SharedLeases, SharedMoment } from './shared-leases.js';
import { until } from './shared-leases.js';

/** How often a lease looks whether its holder's thread is back, in milliseconds. */
const STALL_PAUSE_MS = 100;

export interface RenewerOptions {
  readonly backend: Backend;
  /** The one that all threads of the process share. */
  readonly clock: Clock;
  readonly shared: SharedLeases;
  /** Milliseconds: holders whose thread is blocked for longer get no more renewals. */
  readonly maxStall: number;
  notify(notice: Notice): void;
  /** A renewal has failed, or worked (undefined). */
  onOutcome(error: unknown): void;
}

/**
 * The thread of the keeper: its leases are those of the core, renewed in the same calls with the
 * same pauses, on this thread's connection. Each renewal that is confirmed goes into the memory
 * that the threads share, and a ticket that is gone is reported once. What else ends a lease is for
 * the thread of its holder to find: that thread may have renewed it.
 */
export class Renewer {
  readonly #options: RenewerOptions;
  readonly #client: Client;
  // Kept by their leases alone.
  readonly #semaphores = new WeakGroups<Releases>();
  readonly #kept = new Map<number, RenewedLease>();
  /** Settles each order to extend, by its number. */
  readonly #extending = new Map<number, (done: boolean) => void>();
  /** Places whose leases have ended in this turn. */
  #free: number[] = [];

  constructor(options: RenewerOptions) {
    this.#options = options;
    this.#client = Client.of(options.backend, options.clock);
  }

  obey(order: Order): void {
    if (order.do === 'keep') this.#keep(order);
    else if (order.do === 'stop') this.#stop(order.place);
    else this.#extend(order.place, order.number);
  }

  #extend(place: number, number: number): void {
    const settle = (done: boolean): void => {
      if (this.#extending.delete(number)) this.#options.notify({ what: 'extended', number, done });
    };
    this.#extending.set(number, settle);
    const lease = this.#kept.get(place);
    if (lease === undefined) return settle(false);
    lease.extend().then(
      () => settle(true),
      () => settle(false),
    );
  }

  #keep({ place, number, semaphore, ticket }: KeepOrder): void {
    const releases = this.#releasesOf(number, semaphore);
    const { clock, shared, maxStall } = this.#options;
    const now = instant(clock);
    const remaining = until(shared.end(place), now);
    if (remaining <= 0) return this.#release(place);
    const lease = new RenewedLease(releases, ticket.id, {
      isStopped: () => shared.isStopped(place),
      isStalled: () => shared.stillFor(clock.monotonic()) > maxStall,
      onOutcome: (error) => this.#onOutcome(error),
    });
    lease.observe({
      onExtended: () => shared.setEnd(place, endOf(lease, clock)),
      onLost: (error) => this.#onLost(place, error),
      onReleased: () => undefined,
    });
    this.#kept.set(place, lease);
    releases.link.know(lease);
    if (!lease.hold(ticket, windowOf(now, remaining), true)) return this.#release(place);
    // A grant that was pushed lives for its claim time only, until it is first renewed.
    const dueIn = Math.min(semaphore.extendEvery || Infinity, remaining / 2);
    lease.extendAt(now.monotonic + dueIn, now.monotonic);
  }

  #releasesOf(number: number, { key, ...about }: KeptSemaphore): Releases {
    return this.#semaphores.one(String(number), () => {
      const options = { ...about, label: '', maxWaiting: undefined, rate: undefined };
      return new Releases(new SemaphoreLink(this.#client, key, options));
    });
  }

  #stop(place: number): void {
    const lease = this.#kept.get(place);
    // The place of a lease that has ended is free already.
    if (lease === undefined) return;
    lease.letExpire();
    this.#release(place);
  }

  #onLost(place: number, { reason }: HandleLostError): void {
    const isGone = reason === 'missing' || reason === 'revoked';
    if (isGone) this.#options.shared.lose(place, reason);
    if (isGone) this.#options.notify({ what: 'lost', place, reason });
    this.#release(place);
  }

  /** Nothing is written about that place any more. In one message for all of this turn. */
  #release(place: number): void {
    this.#kept.delete(place);
    if (this.#free.push(place) > 1) return;
    queueMicrotask(() => {
      const places = this.#free;
      this.#free = [];
      this.#options.notify({ what: 'free', places });
    });
  }

  #onOutcome(error: unknown): void {
    this.#options.onOutcome(error);
    if (error === undefined) return;
    // The thread of their callers has another connection.
    for (const settle of this.#extending.values()) settle(false);
  }
}

interface Terms {
  /** Its holder wants it no more, though the order to stop may still be on its way. */
  isStopped(): boolean;
  /** Its holder's thread has been blocked for too long. */
  isStalled(): boolean;
  /** Undefined: it was renewed. */
  onOutcome(error: unknown): void;
}

class RenewedLease extends Lease {
  readonly #terms: Terms;

  constructor(releases: Releases, id: string, terms: Terms) {
    super(releases, id);
    this.#terms = terms;
  }

  override renew(): void {
    if (!this.#terms.isStalled()) return super.renew();
    const now = this.link.clock.monotonic();
    this.extendAt(now + STALL_PAUSE_MS, now);
  }

  override leave(call: Call): boolean {
    return !this.#terms.isStopped() && super.leave(call);
  }

  override answer(verdict: Verdict, call: Call): void {
    this.#terms.onOutcome(undefined);
    super.answer(verdict, call);
  }

  override fail(error: unknown, call: Call): void {
    this.#terms.onOutcome(error);
    super.fail(error, call);
  }

  /** Its holder gives it back, and may have renewed it. */
  override withdraw(): void {}
}

function endOf({ remaining }: Lease, clock: Clock): SharedMoment {
  const { monotonic, wall } = instant(clock);
  return { monotonic: monotonic + remaining, wall: wall + remaining };
}
