import type { Backend } from '../backends/backend.js';
import type { Call } from '../core/batcher.js';
import type { Verdict } from '../core/operations.js';
import { Lease } from '../core/lease.js';
import { SemaphoreLink } from '../core/semaphore-link.js';
import { WeakGroups } from '../core/weak-groups.js';
import type { LostReason } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { windowOf } from '../time/server-clock.js';
import type { KeepOrder, Notice, Order } from './messages.js';
import type { SharedLeases } from './shared-leases.js';

export interface RenewerOptions {
  readonly backend: Backend;
  /** The one that all threads of the process share. */
  readonly clock: Clock;
  readonly shared: SharedLeases;
  /** Milliseconds: holders whose thread is blocked for longer get no more renewals. */
  readonly maxStall: number;
  readonly notify: (notice: Notice) => void;
  /** A renewal has failed, or worked (undefined). */
  onOutcome(error: unknown): void;
}

/**
 * The thread of the keeper: its leases are those of the core, renewed in the same calls with the
 * same pauses, on this thread's connection. Each renewal that is confirmed goes into the memory
 * that the threads share, and so does the loss of a ticket that is gone. What else ends a lease is
 * for the thread of its holder to find: that thread may have renewed it. Takes orders.
 */
export function renewLeases(options: RenewerOptions): (order: Order) => void {
  const { backend, clock, shared, notify } = options;
  // Kept by their leases alone.
  const semaphores = new WeakGroups<SemaphoreLink>();
  const kept = new Map<number, RenewedLease>();

  function linkOf({ semaphore }: KeepOrder): SemaphoreLink {
    return semaphores.one(JSON.stringify(semaphore), () => {
      return new SemaphoreLink(backend, semaphore.key, { ...semaphore, label: '', clock });
    });
  }

  function keep(order: KeepOrder): void {
    const { place, semaphore, ticket } = order;
    const lease = new RenewedLease(linkOf(order), order, options, () => {
      kept.delete(place);
      notify({ what: 'free', place });
    });
    kept.set(place, lease);
    lease.link.permits.set(lease.id, lease);
    const from = instant(clock);
    const left = shared.left(place);
    // A grant that was pushed lives for its claim time only, until it is first renewed.
    const isClaimed = left > semaphore.ttl / 2;
    if (!lease.hold({ ...ticket, slots: [] }, windowOf(from, left), isClaimed)) lease.letExpire();
  }

  return (order) => {
    // The place of a lease that has ended is free already.
    const lease = kept.get(order.place);
    if (order.do === 'keep') return keep(order);
    if (order.do === 'stop') return lease?.letExpire();
    const extended = lease?.extend() ?? Promise.reject(new Error('it has ended'));
    const tell = (done: boolean) => () => notify({ what: 'extended', number: order.number, done });
    extended.then(tell(true), tell(false));
  };
}

class RenewedLease extends Lease {
  readonly #place: number;
  readonly #options: RenewerOptions;
  readonly #onEnd: () => void;
  /** Its ticket was there, as far as this thread's client can see. */
  #isSeen = false;

  constructor(link: SemaphoreLink, order: KeepOrder, options: RenewerOptions, onEnd: () => void) {
    super(link, order.ticket.id);
    this.#place = order.place;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /** A holder whose thread is back after so long a time renews it there first. */
  override renew(): void {
    const { shared, maxStall } = this.#options;
    if (shared.stillFor > maxStall) this.letExpire();
    else super.renew();
  }

  /** Its holder may want it no more, though the order to stop is still on its way. */
  override leave(call: Call): boolean {
    return this.#options.shared.state(this.#place) !== 'stopped' && super.leave(call);
  }

  override answer(verdict: Verdict, call: Call): void {
    const { clock, shared } = this.#options;
    this.#options.onOutcome(undefined);
    this.#isSeen ||= verdict !== 'missing';
    super.answer(verdict, call);
    if (this.stage === 'held') shared.setLeft(this.#place, instant(clock), this.remaining);
  }

  override fail(error: unknown, call: Call): void {
    this.#options.onOutcome(error);
    super.fail(error, call);
  }

  override lose(reason: LostReason, cause?: unknown): void {
    if (this.stage !== 'held') return;
    super.lose(reason, cause);
    const { shared } = this.#options;
    if (reason === 'revoked') shared.setState(this.#place, 'revoked');
    if (reason === 'missing') shared.setState(this.#place, this.#isSeen ? 'missing' : 'unseen');
    this.#onEnd();
  }

  override letExpire(): void {
    super.letExpire();
    this.#onEnd();
  }

  /** Its holder gives it back, and may have renewed it. */
  override withdraw(): void {}
}
