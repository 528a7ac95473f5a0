import type { HeldHere, LostReason } from '../errors.js';
import { telemetry } from '../telemetry.js';
import type { Instant } from '../time/clock.js';
import { inSlices } from '../time/in-slices.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Keep } from '../backends/lease-keeper.js';
import type { LeaseTicket, LeaseWatch } from './lease.js';
import { Lease, publishGrant } from './lease.js';
import type { Releases } from './release.js';
import type { SemaphoreLink } from './semaphore-link.js';

/**
 * Keeps the held tickets of one semaphore object alive, all with one wake-up, and notifies a holder
 * when its lease ran out without a confirmed extension. It does not keep the process alive, and no
 * timer is set while nothing is held.
 */
export class Leases implements LeaseWatch {
  readonly link: SemaphoreLink;
  readonly releases: Releases;
  readonly extendEvery: number;
  readonly keep: Keep | undefined;
  #held = 0;
  /** Of the leases that are held. */
  #permits = 0;
  readonly #nextBeat: Wakeup;
  /** Holders whose leases ran out are being notified. */
  #isExpiring = false;
  #onEmpty: (() => void) | undefined;

  constructor(link: SemaphoreLink, releases: Releases, extendEvery: number, keep?: Keep) {
    this.link = link;
    this.releases = releases;
    this.extendEvery = extendEvery;
    this.keep = keep;
    this.#nextBeat = new Wakeup(link.clock, false, () => this.#beat());
  }

  /** A ticket that was taken over from its holder. Undefined when it is no longer valid. */
  adopt(id: string, ticket: LeaseTicket, sent: Instant): Lease | undefined {
    const lease = new Lease(this, id);
    if (!lease.hold(ticket, { from: sent, duration: this.link.ttl }, true)) return undefined;
    this.link.permits.add(lease);
    if (telemetry.grant.active) publishGrant(lease, 0, 0);
    return lease;
  }

  /** Resolves when nothing is held any more, after `duration` milliseconds, or by `endDrain`. */
  drain(duration: number): Promise<void> {
    if (this.#held === 0) return Promise.resolve();
    return new Promise((resolve) => {
      // It keeps the process alive, for whoever awaits `close` must get to what follows it.
      const timer = this.link.clock.schedule(() => this.endDrain(), duration, true);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  endDrain(): void {
    this.#onEmpty?.();
  }

  loseAll(reason: LostReason): Promise<void> {
    return inSlices(this.#all(), (lease) => lease.lose(reason));
  }

  #all(): Lease[] {
    const leases: Lease[] = [];
    for (const permit of this.link.permits.all()) {
      if (permit instanceof Lease && permit.stage === 'held') leases.push(permit);
    }
    return leases;
  }

  /** Permits that are held, and by whom for the longest time. */
  get heldHere(): HeldHere | undefined {
    if (this.#permits === 0) return undefined;
    const { permits, limit, label, clock } = this.link;
    const first = permits.first((permit) => permit instanceof Lease && permit.stage === 'held');
    const since = first instanceof Lease ? first.heldSince : clock.monotonic();
    return { permits: this.#permits, limit, heldFor: clock.monotonic() - since, label };
  }

  onHeld(lease: Lease, now: number, remaining: number): void {
    this.#held += 1;
    this.#permits += lease.slots.length;
    this.wakeFor(lease, now, remaining);
  }

  onEnded({ slots }: Lease): void {
    this.#held -= 1;
    this.#permits -= slots.length;
    if (this.#held > 0) return;
    this.#nextBeat.stop();
    this.endDrain();
  }

  wakeFor(lease: Lease, now: number, remaining: number): void {
    const dueIn = lease.dueIn(now);
    if (remaining <= dueIn) this.#nextBeat.wakeBy(now + remaining, now);
    else this.#nextBeat.wakeAround(now + dueIn, now);
  }

  #beat(): void {
    const now = this.link.clock.monotonic();
    const over: Lease[] = [];
    for (const lease of this.#all()) {
      const { remaining } = lease;
      if (remaining <= 0) over.push(lease);
      // What is soon due travels with what is due.
      else if (!lease.isRenewing && lease.dueIn(now) > lease.earliness) {
        lease.noteKept();
        this.wakeFor(lease, now, remaining);
      } else {
        if (!lease.isRenewing) lease.renew();
        this.#nextBeat.wakeBy(now + remaining, now);
      }
    }
    if (over.length > 0) void this.#expire(over);
  }

  /**
   * At a look they are lost already. Leases that run out meanwhile are found by the beat after
   * them.
   */
  async #expire(over: readonly Lease[]): Promise<void> {
    if (this.#isExpiring) return;
    this.#isExpiring = true;
    await inSlices(over, (lease) => {
      // Confirmed before its turn came, it is held after all.
      if (lease.remaining <= 0) lease.lose('expired', lease.lastError);
    });
    this.#isExpiring = false;
    const now = this.link.clock.monotonic();
    if (this.#held > 0) this.#nextBeat.wakeBy(now, now);
  }
}
