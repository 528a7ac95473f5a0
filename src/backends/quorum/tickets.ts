import type { Clock } from '../../time/clock.js';
import type { TicketRequest } from '../backend.js';
import type { Holding, HoldRequest } from './quorum-node.js';
import { type Majorities, Votes } from './votes.js';

/** A request that tries to win a majority. */
export class Candidate {
  readonly request: TicketRequest;
  /**
   * `open`: a round is under way, or the ticket that it won is not yet safe. `refused`: no node
   * gave it a slot. `split`: too few nodes gave it a slot. `late`: the ticket came too late.
   */
  progress: 'open' | 'won' | 'refused' | 'split' | 'late' = 'open';
  attempt = 0;
  /** Of this attempt. */
  votes: Votes;
  slots: readonly number[] = [];
  token: number | undefined;

  constructor(request: TicketRequest, majorities: Majorities) {
    this.request = request;
    this.votes = new Votes(majorities, request.permits);
  }
}

/** A ticket that a majority holds, as this process knows it. */
export interface HeldTicket extends Holding {
  readonly label: string;
  /** The monotonic time at which it may have expired. */
  readonly until: number;
}

/** How long a released ticket is remembered, for the calls that are still under way. */
const RELEASED_MEMORY_MS = 5000;

const RELEASED: Omit<HeldTicket, 'until'> = { slots: [], token: 0, attempt: 0, label: '' };

/**
 * The tickets that this process won or extended, by id. They serve one purpose: a node that lost a
 * ticket gets it back only if this process has not released it meanwhile.
 */
export class Tickets {
  readonly #clock: Clock;
  /** The tickets in the order in which they were confirmed or released. */
  readonly #known = new Map<string, HeldTicket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if the ticket is not held any more. */
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

  /** The request that puts the ticket on a node; undefined if it is not held any more. */
  requestFor(id: string): HoldRequest | undefined {
    const ticket = this.get(id);
    return ticket && { ...ticket, id, mode: 'restore', permits: ticket.slots.length };
  }
}
