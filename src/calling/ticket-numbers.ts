import { newClientId, parseTicketId, ticketId } from '../backends/ticket-id.js';
import type { Clock } from '../time/clock.js';

/** This process's name on one backend, and the ids that it has made. */
export class TicketNumbers {
  readonly client: string;
  #last = 0;

  constructor(clock: Clock) {
    this.client = newClientId(clock.random?.bind(clock));
  }

  next(permits: number): string {
    this.#last += 1;
    return ticketId(this.client, this.#last, permits);
  }

  /** Whether it is an id that was made here. Those of adopted tickets are not. */
  made(id: string): boolean {
    const parts = parseTicketId(id);
    if (parts?.client !== this.client || parts.number > this.#last) return false;
    return id === ticketId(parts.client, parts.number, parts.permits);
  }
}
