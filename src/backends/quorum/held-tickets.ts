import type { Clock } from '../../time/clock.js';

/** A ticket that a majority holds, as this process knows it. */
export interface HeldTicket {
  readonly slots: readonly number[];
  readonly token: number;
  readonly attempt: number;
  readonly label: string;
  /** Monotonic time by which it may have expired. */
  readonly until: number;
}

/** How long a released ticket is remembered for the sake of calls that are still under way. */
const RELEASED_MEMORY_MS = 5000;

/**
 * The tickets that this process won or extended, by id. Without it everything would work but one
 * thing: a node that lost a ticket could not get it back with certainty that nobody released it
 * meanwhile.
 */
export class HeldTickets {
  readonly #clock: Clock;
  readonly #held = new Map<string, HeldTicket>();
  readonly #released = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(id: string): HeldTicket | undefined {
    const ticket = this.#held.get(id);
    return ticket !== undefined && ticket.until > this.#clock.monotonic() ? ticket : undefined;
  }

  set(id: string, ticket: HeldTicket): void {
    // Those that were confirmed last stand last: what has expired is found at the front.
    this.#held.delete(id);
    this.#held.set(id, ticket);
    const now = this.#clock.monotonic();
    for (const [old, { until }] of this.#held) {
      if (until > now) break;
      this.#held.delete(old);
    }
  }

  lose(id: string): void {
    this.#held.delete(id);
  }

  release(id: string): void {
    this.#held.delete(id);
    const now = this.#clock.monotonic();
    this.#released.delete(id);
    this.#released.set(id, now + RELEASED_MEMORY_MS);
    for (const [old, until] of this.#released) {
      if (until > now) break;
      this.#released.delete(old);
    }
  }

  wasReleased(id: string): boolean {
    return this.#released.has(id);
  }
}
