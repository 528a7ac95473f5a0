import type { Backend } from '../backends/backend.js';
import { Client } from '../core/client.js';
import type { Call } from '../core/batcher.js';
import { Lease } from '../core/lease.js';
import { Leases } from '../core/leases.js';
import { Releases } from '../core/release.js';
import { SemaphoreLink } from '../core/semaphore-link.js';
import { WeakGroups } from '../core/weak-groups.js';
import { describe } from '../error-causes.js';
import type { HandleLostError } from '../errors.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { windowOf } from '../time/server-clock.js';
import type { KeepOrder, Notice, Order, SemaphoreToKeep } from './messages.js';
import type { SharedLeases } from './shared-leases.js';
import { until } from './shared-leases.js';

export interface RenewerOptions {
  readonly backend: Backend;
  /** The one that all threads of the process share. */
  readonly clock: Clock;
  readonly shared: SharedLeases;
  /** Milliseconds: holders whose thread stands still for longer are not helped any more. */
  readonly maxStall: number;
  notify(notice: Notice): void;
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
  readonly #semaphores = new WeakGroups<Leases>();
  readonly #kept = new Map<number, RenewedLease>();
  /** Settles each order to extend, by its number. */
  readonly #extending = new Map<number, (done: boolean) => void>();
  /** Places whose leases have ended in this turn. */
  #free: number[] = [];
  #isTroubled = false;

  constructor(options: RenewerOptions) {
    this.#options = options;
    this.#client = Client.of(this.#watched(options.backend), options.clock);
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
    const leases = this.#leasesOf(number, semaphore);
    const { clock, shared } = this.#options;
    const now = instant(clock);
    const remaining = until(shared.end(place), now);
    if (remaining <= 0) return this.#release(place);
    const lease = new RenewedLease(leases, ticket.id, () => shared.isStopped(place));
    lease.observe({
      onExtended: () => shared.setEnd(place, endOf(lease, clock)),
      onLost: (error) => this.#onLost(place, error),
      onReleased: () => undefined,
    });
    this.#kept.set(place, lease);
    leases.link.permits.add(lease);
    if (!lease.hold(ticket, windowOf(now, remaining), true)) return this.#release(place);
    // A grant that was pushed lives for its claim time only, until it is first renewed.
    lease.dueAt = Math.min(lease.dueAt, now.monotonic + remaining / 2);
    leases.wakeFor(lease, now.monotonic, remaining);
  }

  #leasesOf(number: number, { key, extendEvery, ...about }: SemaphoreToKeep): Leases {
    let leases = this.#semaphores.of(String(number))[0];
    if (leases === undefined) {
      const options = { ...about, label: '', maxWaiting: undefined, rate: undefined };
      const link = new SemaphoreLink(this.#client, key, options);
      leases = new Leases(link, new Releases(link), extendEvery);
      this.#semaphores.add(String(number), leases);
    }
    return leases;
  }

  #stop(place: number): void {
    this.#kept.get(place)?.letExpire();
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

  /** The backend, through which nothing is renewed for holders whose thread stands still. */
  #watched(backend: Backend): Backend {
    const { clock, shared, maxStall } = this.#options;
    return {
      acquire: (calls) => backend.acquire(calls),
      release: (calls) => backend.release(calls),
      inspect: (call) => backend.inspect(call),
      isRetryable: (error) => backend.isRetryable?.(error) ?? true,
      ...(backend.laneOf !== undefined && { laneOf: backend.laneOf.bind(backend) }),
      extend: async (calls) => {
        const still = shared.stillFor(clock.monotonic());
        if (still > maxStall) throw new Error(`the main thread has stood still for ${still} ms`);
        try {
          const replies = await backend.extend(calls);
          this.#isTroubled = false;
          return replies;
        } catch (error) {
          this.#onTrouble(error);
          throw error;
        }
      },
    };
  }

  #onTrouble(error: unknown): void {
    if (!this.#isTroubled) this.#options.notify({ what: 'trouble', text: describe(error) });
    this.#isTroubled = true;
    // The thread of their callers has another connection.
    for (const settle of this.#extending.values()) settle(false);
  }
}

/** A lease of another thread: what its holder wants of it stands in the shared memory. */
class RenewedLease extends Lease {
  readonly #isStopped: () => boolean;

  constructor(leases: Leases, id: string, isStopped: () => boolean) {
    super(leases, id);
    this.#isStopped = isStopped;
  }

  /** Not even when the order to stop is still on its way. */
  override leave(call: Call): boolean {
    return !this.#isStopped() && super.leave(call);
  }

  /** Its holder gives it back, and may have renewed it. */
  override withdraw(): void {}
}

function endOf({ remaining }: Lease, clock: Clock): Instant {
  const { monotonic, wall } = instant(clock);
  return { monotonic: monotonic + remaining, wall: wall + remaining };
}
