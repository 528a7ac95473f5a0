import type { Clock } from '../../time/clock.js';
import type { TicketRequest } from '../backend.js';
import type { HoldMode, Holding, HoldRequest } from './quorum-node.js';
import type { Votes } from './votes.js';

/** One request on its way to a majority. */
export interface Candidate {
  readonly request: TicketRequest;
  /** Its caller has released it. */
  cancelled: boolean;
  /**
   * `open`: a round is under way, or what it won is not yet safe. `refused`: no node gave it
   * anything. `split`: too few nodes did. `late`: what was won came too late.
   */
  progress: 'open' | 'won' | 'refused' | 'split' | 'late';
  attempt: number;
  /** For this attempt. */
  votes: Votes;
  slots: readonly number[];
  token: number | undefined;
}

/** A ticket that a majority holds, as this process knows it. */
export interface HeldTicket extends Holding {
  readonly label: string;
  /** Monotonic time by which it may have expired. */
  readonly until: number;
}

/** How long a released ticket is remembered for the sake of calls that are still under way. */
const RELEASED_MEMORY_MS = 5000;

const RELEASED: Omit<HeldTicket, 'until'> = { slots: [], token: 0, attempt: 0, label: '' };

/**
 * The tickets that this process won or extended, by id. Without it everything would work but one
 * thing: a node that lost a ticket could not get it back with certainty that nobody released it
 * meanwhile.
 */
export class Tickets {
  readonly #clock: Clock;
  /** The tickets that were confirmed or released last are last. */
  readonly #known = new Map<string, HeldTicket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined where it is not held any more. */
  get(id: string): HeldTicket | undefined {
    const ticket = this.#known.get(id);
    const isHeld = ticket !== undefined && ticket.slots.length > 0;
    return isHeld && ticket.until > this.#clock.monotonic() ? ticket : undefined;
  }

  set(id: string, ticket: HeldTicket): void {
    this.#known.delete(id);
    this.#known.set(id, ticket);
    const now = this.#clock.monotonic();
    for (const [old, { until }] of this.#known) {
      if (until > now) break;
      this.#known.delete(old);
    }
  }

  lose(id: string): void {
    if (!this.wasReleased(id)) this.#known.delete(id);
  }

  release(id: string): void {
    this.set(id, { ...RELEASED, until: this.#clock.monotonic() + RELEASED_MEMORY_MS });
  }

  wasReleased(id: string): boolean {
    return this.#known.get(id)?.slots.length === 0;
  }

  /** What a node is sent for it; undefined when it is no longer held. */
  requestFor(id: string, mode: HoldMode): HoldRequest | undefined {
    const ticket = this.get(id);
    return ticket && { ...ticket, id, mode, permits: ticket.slots.length };
  }
}
