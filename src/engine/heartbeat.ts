import type { Clock } from '../time/clock.js';
import { inSlices } from '../time/in-slices.js';
import { IndexedList } from './indexed-list.js';
import type { Lease, LeaseHolder } from './lease.js';
import { telemetry } from '../telemetry.js';
import { SharedTimer } from '../time/shared-timer.js';

export interface HeartbeatOptions {
  readonly clock: Clock;
  /** 0: tickets are never extended, only watched. */
  readonly extendEvery: number;
  /** Sends extensions; settles each lease by `confirm`, `lose` or `failed` of this heartbeat. */
  readonly extend: (lease: Lease) => void;
}

/**
 * Keeps the held tickets of one semaphore alive, all with one timer, and tells a holder when its lease
 * ran out without a confirmed extension. The timer does not keep the process alive, and there is none
 * while nothing is held.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #leases = new IndexedList<Lease>();
  readonly #timer: SharedTimer;
  /** Holders whose leases ran out are being told. */
  #losing = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#timer = new SharedTimer(options.clock, false, () => this.#beat());
  }

  /** `dueAt`: monotonic time of the first extension; `certainUntil`: until when it is held without one. */
  add(lease: Lease, dueAt: number, certainUntil: number, now: number): void {
    lease.dueAt = dueAt;
    this.#leases.add(lease);
    this.#timer.wakeBy(Math.min(dueAt, certainUntil), now);
  }

  remove(lease: Lease): void {
    if (this.#leases.remove(lease) && this.#leases.size === 0) this.#timer.stop();
  }

  find(id: string): Lease | undefined {
    return this.#leases.get(id);
  }

  heldBy(holder: LeaseHolder): Lease[] {
    return this.#leases.toArray().filter((lease) => lease.holder === holder);
  }

  /** The next extension is a whole period after the one that was just confirmed was sent: on a slow network, too. */
  confirmed(lease: Lease, sentAt: number): void {
    const { clock, extendEvery } = this.#options;
    const now = clock.monotonic();
    lease.dueAt = extendEvery === 0 ? Infinity : sentAt + extendEvery;
    lease.weaken((dropped) => this.#forget(dropped));
    if (this.#leases.has(lease))
      this.#timer.wakeBy(Math.min(lease.dueAt, now + lease.remaining), now);
  }

  /** An extension failed: one failure is not loss, it is tried again `delay` milliseconds from now. */
  failed(lease: Lease, error: unknown, delay: number): void {
    lease.failures += 1;
    lease.lastError = error;
    if (!this.#leases.has(lease)) return;
    const now = this.#options.clock.monotonic();
    lease.dueAt = now + delay;
    this.#timer.wakeBy(lease.dueAt, now);
  }

  #forget(lease: Lease): void {
    this.remove(lease);
    if (telemetry.drop.active) telemetry.drop.publish({ name: lease.name, id: lease.id });
  }

  #beat(): void {
    const { clock, extendEvery, extend } = this.#options;
    const now = clock.monotonic();
    let wakeAt = Infinity;
    const over: Lease[] = [];
    for (const lease of this.#leases.toArray()) {
      const { remaining } = lease;
      if (remaining <= 0) {
        over.push(lease);
        continue;
      }
      // Those that are soon due travel with those that are due: one call for all.
      const soon = lease.failures === 0 ? extendEvery / 2 : 0;
      if (lease.extending) {
        wakeAt = Math.min(wakeAt, now + remaining);
      } else if (lease.dueAt <= now + soon) {
        extend(lease);
        wakeAt = Math.min(wakeAt, now + remaining);
      } else {
        wakeAt = Math.min(wakeAt, lease.dueAt, now + remaining);
      }
    }
    if (over.length > 0) void this.#lose(over);
    // A listener may have released them all.
    if (this.#leases.size > 0) this.#timer.wakeBy(wakeAt, now);
  }

  /** At a look they are lost already. Those that run out meanwhile are found by the beat after them. */
  async #lose(over: readonly Lease[]): Promise<void> {
    if (this.#losing) return;
    this.#losing = true;
    await inSlices(over, (lease) => {
      // Confirmed before its turn came, it is held after all.
      if (lease.remaining <= 0) lease.lose('expired', lease.lastError);
    });
    this.#losing = false;
    const now = this.#options.clock.monotonic();
    if (this.#leases.size > 0) this.#timer.wakeBy(now, now);
  }
}
