import { firstId } from '../ticket-id.js';
import type { SlotRange } from './free-slots.js';
import { FreeSlots } from './free-slots.js';
import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';
import type { RisingNumbers } from './rising-numbers.js';

export interface Ticket extends Named {
  readonly ranges: readonly SlotRange[];
  readonly fencingToken: number;
  readonly label: string;
  readonly expiresAt: number;
}

interface Mutable extends Ticket {
  expiresAt: number;
}

/** What a ticket is given for. */
export interface Grantee {
  readonly id: string;
  readonly permits: number;
  readonly label: string;
}

/**
 * The live tickets of one semaphore, their slots and tokens, and what became of the adopted ones.
 */
export class LiveTickets {
  readonly #numbers: RisingNumbers;
  readonly #tickets = new HeapById<Mutable>(({ expiresAt }) => expiresAt);
  readonly #slots = new FreeSlots();
  /** The ids that adopted tickets have now, by their first. */
  readonly #adopted = new Map<string, string>();
  #lastEnd = -Infinity;

  constructor(numbers: RisingNumbers) {
    this.#numbers = numbers;
  }

  get size(): number {
    return this.#tickets.size;
  }

  /** How many permits they have. */
  get permits(): number {
    return this.#slots.used;
  }

  /** When the next one expires, if there is any. */
  get nearestExpiry(): number | undefined {
    return this.#tickets.lowest?.expiresAt;
  }

  /** The latest time at which any of them, until now, was to expire. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  get(id: string): Ticket | undefined {
    return this.#tickets.get(id);
  }

  has(id: string): boolean {
    return this.#tickets.has(id);
  }

  /** In the order of their grants. */
  values(): Iterable<Ticket> {
    return this.#tickets.values();
  }

  /** No other may be there under its id. */
  grant({ id, permits, label }: Grantee, now: number, expiresAt: number): Ticket {
    return this.#add(id, this.#slots.take(permits), label, now, expiresAt);
  }

  /** False when it is gone. */
  renew(id: string, expiresAt: number): boolean {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return false;
    ticket.expiresAt = expiresAt;
    this.#lastEnd = Math.max(this.#lastEnd, expiresAt);
    this.#tickets.moved(ticket);
    return true;
  }

  /** False when it is gone. */
  drop(id: string): boolean {
    const ticket = this.#tickets.remove(id);
    if (ticket === undefined) return false;
    this.#slots.giveBack(ticket.ranges);
    if (this.#adopted.size > 0 && firstId(id) !== id) this.#adopted.delete(firstId(id));
    return true;
  }

  purge(now: number): void {
    let next = this.#tickets.lowest;
    while (next !== undefined && next.expiresAt <= now) {
      this.drop(next.id);
      next = this.#tickets.lowest;
    }
  }

  /**
   * The ticket that has one of these ids, or to which the last of them led, by whatever adoption.
   */
  find(newId: string, id: string): Ticket | undefined {
    return this.get(newId) ?? this.get(id) ?? this.get(this.#adoptedId(id));
  }

  /** Gives it a new id, token and label; its slots stay. */
  adopt(ticket: Ticket, newId: string, label: string, now: number, expiresAt: number): Ticket {
    this.#tickets.remove(ticket.id);
    this.#adopted.set(firstId(newId), newId);
    return this.#add(newId, ticket.ranges, label, now, expiresAt);
  }

  #add(
    id: string,
    ranges: readonly SlotRange[],
    label: string,
    now: number,
    expiresAt: number,
  ): Ticket {
    const fencingToken = this.#numbers.next(now);
    const ticket = { id, ranges, fencingToken, label, expiresAt, place: 0 };
    this.#tickets.add(ticket);
    this.#lastEnd = Math.max(this.#lastEnd, expiresAt);
    return ticket;
  }

  /** The id that it has now, where it was adopted. */
  #adoptedId(id: string): string {
    const origin = firstId(id);
    return this.#adopted.get(origin) ?? origin;
  }
}
