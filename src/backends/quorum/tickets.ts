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

/**
 * The tickets that this process won or extended, by id. They serve one purpose: a node that lost a
 * ticket gets it back only if this process has not released it meanwhile.
 */
export class Tickets {
  readonly #clock: Clock;
  /** In the order in which they were confirmed. */
  readonly #held = new Map<string, HeldTicket>();
  /** In the order of their releases. In one list a ticket that is held for long would keep them. */
  readonly #released = new Map<string, { readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if the ticket is not held any more. */
  get(id: string): HeldTicket | undefined {
    const ticket = this.#held.get(id);
    return ticket !== undefined && ticket.until > this.#clock.monotonic() ? ticket : undefined;
  }

  set(id: string, ticket: HeldTicket): void {
    this.#forget(id);
    this.#held.set(id, ticket);
  }

  lose(id: string): void {
    this.#held.delete(id);
  }

  release(id: string): void {
    this.#forget(id);
    this.#released.set(id, { until: this.#clock.monotonic() + RELEASED_MEMORY_MS });
  }

  wasReleased(id: string): boolean {
    return this.#released.has(id);
  }

  /** The request that puts the ticket on a node; undefined if it is not held any more. */
  requestFor(id: string): HoldRequest | undefined {
    const ticket = this.get(id);
    return ticket && { ...ticket, id, mode: 'restore', permits: ticket.slots.length };
  }

  /** Forgets this ticket, and tickets whose time is over. */
  #forget(id: string): void {
    const now = this.#clock.monotonic();
    for (const tickets of [this.#held, this.#released]) {
      tickets.delete(id);
      for (const [old, { until }] of tickets) {
        if (until > now) break;
        tickets.delete(old);
      }
    }
  }
}
