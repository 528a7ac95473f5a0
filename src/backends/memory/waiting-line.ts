import { WAITER_LEASE_MS } from '../protocol.js';
import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';

export interface Waiter extends Named {
  readonly permits: number;
  readonly client: string;
  readonly label: string;
  /** What a separate ticket would get. */
  readonly ttl: number;
  /** Its place: lower numbers come first. */
  readonly arrival: number;
}

/** Requests in the order of their arrival numbers, and until when those of each client count. */
export class WaitingLine extends HeapById<Waiter> {
  readonly #leases = new Map<string, number>();

  constructor() {
    super(({ arrival }) => arrival);
  }

  /** Those that count, in order. */
  living(now: number): Waiter[] {
    return [...this.values()]
      .filter((waiter) => this.#isAlive(waiter, now))
      .toSorted((one, other) => one.arrival - other.arrival);
  }

  /** The first that counts, once those before it are dropped. */
  firstLiving(now: number): Waiter | undefined {
    while (this.lowest !== undefined && !this.#isAlive(this.lowest, now))
      this.remove(this.lowest.id);
    return this.lowest;
  }

  /** The one of these that came first. */
  firstOf(some: readonly { readonly id: string }[]): Waiter | undefined {
    let first: Waiter | undefined;
    for (const { id } of some) {
      const waiter = this.get(id);
      if (waiter !== undefined && waiter.arrival < (first?.arrival ?? Infinity)) first = waiter;
    }
    return first;
  }

  /** How many came before it, whether they live or not. */
  ahead({ arrival }: Waiter): number {
    let count = 0;
    for (const other of this.values()) if (other.arrival < arrival) count += 1;
    return count;
  }

  /** All leases are of the same length: those that end first were renewed first. */
  renewLease(client: string, now: number): void {
    this.#leases.delete(client);
    this.#leases.set(client, now + WAITER_LEASE_MS);
    for (const [other, until] of this.#leases) {
      if (until > now) return;
      this.#leases.delete(other);
    }
  }

  #isAlive({ client }: Waiter, now: number): boolean {
    return (this.#leases.get(client) ?? -Infinity) > now;
  }
}
