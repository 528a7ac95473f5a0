import type { Backend } from '../backends/backend.js';
import type { Call } from '../core/batcher.js';
import type { Verdict } from '../core/operations.js';
import { Lease } from '../core/lease.js';
import { SemaphoreLink } from '../core/semaphore-link.js';
import { WeakGroups } from '../core/weak-groups.js';
import type { LostReason } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { windowOf } from '../time/validity.js';
import type { KeepOrder, Notice, Order } from './messages.js';
import type { SharedLeases } from './shared-leases.js';

export interface RenewerOptions {
  readonly backend: Backend;
  /** The clock that all threads of the process share. */
  readonly clock: Clock;
  readonly shared: SharedLeases;
  /** In milliseconds: a lease is not renewed when its thread is blocked for longer. */
  readonly maxStall: number;
  readonly notify: (notice: Notice) => void;
  /** A renewal has failed with this error; undefined: it worked. */
  onOutcome(error: unknown): void;
}

/**
 * The work of the keeper's thread. Its leases are leases of the core, renewed in the same calls
 * with the same pauses, on this thread's connection. The thread writes each confirmed renewal, and
 * each loss of a ticket, into the memory that the threads share. The holder's thread finds any
 * other end of a lease, because that thread may have renewed it. Gives the function that takes
 * orders.
 */
export function renewLeases(options: RenewerOptions): (order: Order) => void {
  const { backend, clock, shared, notify } = options;
  // Only leases keep a semaphore in memory.
  const semaphores = new WeakGroups<SemaphoreLink>();
  const kept = new Map<number, RenewedLease>();

  function linkOf({ semaphore }: KeepOrder): SemaphoreLink {
    return semaphores.one(JSON.stringify(semaphore), () => {
      return new SemaphoreLink(backend, semaphore.key, { ...semaphore, label: '', clock });
    });
  }

  function keep(order: KeepOrder): void {
    const { index, semaphore, ticket } = order;
    const lease = new RenewedLease(linkOf(order), order, options, () => {
      kept.delete(index);
      notify({ what: 'free', index });
    });
    kept.set(index, lease);
    lease.link.permits.set(lease.id, lease);
    const from = instant(clock);
    const left = shared.left(index);
    // A pushed grant lives only for its claim time, until its first renewal.
    const isClaimed = left > semaphore.ttl / 2;
    if (!lease.hold({ ...ticket, slots: [0] }, windowOf(from, left), isClaimed)) lease.letExpire();
  }

  return (order) => {
    // There is no lease with this index if it has ended.
    const lease = kept.get(order.index);
    if (order.do === 'keep') return keep(order);
    if (order.do === 'stop') return lease?.letExpire();
    const extended = lease?.extend() ?? Promise.reject(new Error('it has ended'));
    const tell = (done: boolean) => () => notify({ what: 'extended', number: order.number, done });
    extended.then(tell(true), tell(false));
  };
}

class RenewedLease extends Lease {
  readonly #index: number;
  readonly #options: RenewerOptions;
  readonly #onEnd: () => void;
  /** The client of this thread has found the ticket. */
  #isSeen = false;

  constructor(link: SemaphoreLink, order: KeepOrder, options: RenewerOptions, onEnd: () => void) {
    super(link, order.ticket.id);
    this.#index = order.index;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /** When the holder's thread is back after this time, it renews the lease first. */
  override renew(): void {
    const { shared, maxStall } = this.#options;
    if (shared.stillFor > maxStall) this.letExpire();
    else super.renew();
  }

  /** The holder may have stopped the lease while the order is still on its way. */
  override joinCall(call: Call): boolean {
    return this.#options.shared.state(this.#index) !== 'stopped' && super.joinCall(call);
  }

  override answer(verdict: Verdict, call: Call): void {
    const { clock, shared } = this.#options;
    this.#options.onOutcome(undefined);
    this.#isSeen ||= verdict !== 'missing';
    super.answer(verdict, call);
    if (this.stage === 'held') shared.setLeft(this.#index, instant(clock), this.remaining);
  }

  override fail(error: unknown, call: Call): void {
    this.#options.onOutcome(error);
    super.fail(error, call);
  }

  override lose(reason: LostReason, cause?: unknown): void {
    if (this.stage !== 'held') return;
    super.lose(reason, cause);
    const { shared } = this.#options;
    if (reason === 'revoked') shared.setState(this.#index, 'revoked');
    if (reason === 'missing') shared.setState(this.#index, this.#isSeen ? 'missing' : 'unseen');
    this.#onEnd();
  }

  override letExpire(): void {
    super.letExpire();
    this.#onEnd();
  }

  /** The holder gives the ticket back, and may have renewed it. */
  override withdraw(): void {}
}
