import { CLAIM_TIME, WAITER_LEASE } from '../../src/backend.js';

export interface Ask {
  readonly id: string;
  readonly permits: number;
  readonly wait: boolean;
  /** The place that was told before. */
  readonly arrival: number | undefined;
}

/** Grants and arrivals have running numbers here, in the place of tokens and arrival times. */
export type Verdict =
  | { readonly kind: 'granted'; readonly slots: readonly number[]; readonly grant: number }
  | { readonly kind: 'queued'; readonly arrival: number }
  | { readonly kind: 'over'; readonly limit: number }
  | { readonly kind: 'busy' | 'late' };

export interface Ticket {
  id: string;
  readonly slots: readonly number[];
  grant: number;
  until: number;
}

interface Waiter {
  readonly id: string;
  readonly permits: number;
  readonly arrival: number;
}

export interface Told {
  readonly storedLimit: number | undefined;
  /** Grants to the caller that it did not ask for now. */
  readonly grants: readonly Ticket[];
}

/**
 * What a semaphore promises, in the plainest words: every call looks at every ticket and at every request. Knows nothing of
 * keys, batches, heaps or microseconds; time is in milliseconds and is told to it.
 */
export class ReferenceModel {
  now = 0;
  readonly tickets: Ticket[] = [];
  readonly waiters: Waiter[] = [];
  /** Until when the requests of a client count as alive. */
  readonly leases = new Map<string, number>();
  /** Revoked tickets, until when they are remembered. */
  readonly revoked = new Map<string, number>();
  /** What each client is told without asking: grants, and tickets that were taken from it. */
  readonly pushedGrants = new Map<string, Ticket[]>();
  readonly pushedEnds = new Map<string, string[]>();
  /** What every caller was made with. */
  readonly given: number;
  #stored: number | undefined;
  #numbers = 0;

  constructor(limit: number) {
    this.given = limit;
  }

  get limit(): number {
    return this.#stored ?? this.given;
  }

  get held(): number {
    return this.tickets.reduce((sum, { slots }) => sum + slots.length, 0);
  }

  isAlive(client: string): boolean {
    return (this.leases.get(client) ?? -Infinity) > this.now;
  }

  find(id: string): Ticket | undefined {
    return this.tickets.find((ticket) => ticket.id === id);
  }

  acquire(client: string, ttl: number, asks: readonly Ask[], late: boolean) {
    this.#dropExpired();
    if (late) return this.#refuseLate(client, asks);
    for (const ask of asks) this.#return(ask);
    const asked = new Set(asks.map(({ id }) => id));
    const lease = this.now + WAITER_LEASE;
    if (this.waiters.some(({ id }) => asked.has(id))) this.leases.set(client, lease);
    const told = this.#tell(client, asked);
    const verdicts = asks.map((ask) => this.#verdict(ask, ttl));
    const queued = verdicts.some(({ kind }) => kind === 'queued');
    if (queued) this.leases.set(client, lease);
    const ends = this.tickets.map(({ until }) => until);
    return {
      verdicts,
      ...told,
      nearest: queued && ends.length > 0 ? Math.min(...ends) : undefined,
    };
  }

  extend(client: string, ttl: number, ids: readonly string[]) {
    this.#dropExpired();
    const extended = ids.map((id) => {
      const ticket = this.find(id);
      if (ticket !== undefined) ticket.until = this.now + ttl;
      return ticket !== undefined;
    });
    const revoked = ids.filter((id, i) => extended[i] === false && this.#isRevoked(id));
    return { extended, revoked, ...this.#tell(client) };
  }

  release(client: string, ids: readonly string[]) {
    this.#dropExpired();
    const released = ids.map((id) => remove(this.tickets, (ticket) => ticket.id === id));
    for (const id of ids) remove(this.waiters, (waiter) => waiter.id === id);
    return { released, ...this.#tell(client) };
  }

  setLimit(client: string, limit: number) {
    this.#dropExpired();
    this.#stored = limit;
    return this.#tell(client);
  }

  adopt(client: string, ttl: number, id: string, newId: string) {
    this.#dropExpired();
    const ticket = this.tickets.find((one) => firstOf(one.id) === firstOf(id));
    if (ticket === undefined) return { ticket, ...this.#tell(client) };
    const before = ticket.id;
    if (before !== newId) {
      ticket.id = newId;
      ticket.grant = this.#numbers++;
      this.#push(this.pushedEnds, before, `${before} missing`);
    }
    ticket.until = this.now + ttl;
    return { ticket: { ...ticket, before }, ...this.#tell(client) };
  }

  revoke(client: string, id: string) {
    this.#dropExpired();
    const ticket = this.find(id);
    if (ticket !== undefined) {
      remove(this.tickets, (one) => one === ticket);
      this.revoked.set(id, ticket.until);
      this.#push(this.pushedEnds, id, `${id} revoked`);
    }
    return { revoked: this.#isRevoked(id), ...this.#tell(client) };
  }

  /** What stands there, by slot and by place in the queue; it drops nothing. */
  state() {
    const live = this.tickets.filter(({ until }) => until > this.now);
    const alive = this.waiters.filter(({ id }) => this.isAlive(clientOf(id)));
    return {
      limit: this.limit,
      held: live.reduce((sum, { slots }) => sum + slots.length, 0),
      waiting: alive.length,
      holders: live
        .map((ticket) => ({ ...ticket }))
        .toSorted((a, b) => (a.slots[0] ?? 0) - (b.slots[0] ?? 0)),
      waiters: alive.map(({ id, permits }, position) => ({ id, permits, position })),
    };
  }

  #refuseLate(client: string, asks: readonly Ask[]) {
    const verdicts = asks.map((): Verdict => ({ kind: 'late' }));
    const nearest: number | undefined = undefined;
    return { verdicts, ...this.#tell(client), nearest };
  }

  #dropExpired(): void {
    while (remove(this.tickets, ({ until }) => until <= this.now));
  }

  /** A request that was dropped returns to its old place. */
  #return({ id, permits, arrival }: Ask): void {
    const known = this.find(id) !== undefined || this.waiters.some((waiter) => waiter.id === id);
    if (arrival === undefined || known) return;
    this.waiters.push({ id, permits, arrival });
    this.waiters.sort((a, b) => a.arrival - b.arrival);
  }

  #verdict({ id, permits, wait }: Ask, ttl: number): Verdict {
    const place = this.waiters.find((waiter) => waiter.id === id);
    if (place !== undefined) return { kind: 'queued', arrival: place.arrival };
    let ticket = this.find(id);
    if (ticket === undefined && permits > this.limit) return { kind: 'over', limit: this.limit };
    if (ticket === undefined) {
      const overtakes = this.waiters.some((waiter) => waiter.permits <= this.limit);
      if (!overtakes && this.held + permits <= this.limit) ticket = this.#grant(id, permits);
    }
    if (ticket !== undefined) {
      ticket.until = this.now + ttl;
      return { kind: 'granted', slots: ticket.slots, grant: ticket.grant };
    }
    if (!wait) return { kind: 'busy' };
    const arrival = this.#numbers++;
    this.waiters.push({ id, permits, arrival });
    return { kind: 'queued', arrival };
  }

  /** Grants what can be granted, in order, and tells whom it concerns. */
  #tell(caller: string, asked: ReadonlySet<string> = new Set()): Told {
    const grants: Ticket[] = [];
    // A copy, for those who leave the queue.
    const queue = this.waiters.slice();
    for (const { id, permits } of queue) {
      if (this.held >= this.limit) break;
      const dead = !this.isAlive(clientOf(id));
      if (!dead && permits > this.limit) continue;
      if (!dead && this.held + permits > this.limit) break;
      remove(this.waiters, (waiter) => waiter.id === id);
      if (dead) continue;
      const ticket = this.#grant(id, permits);
      if (asked.has(id)) continue;
      if (clientOf(id) === caller) grants.push({ ...ticket });
      else this.#push(this.pushedGrants, id, { ...ticket });
    }
    const storedLimit = this.#stored === this.given ? undefined : this.#stored;
    return { grants, storedLimit };
  }

  #grant(id: string, permits: number): Ticket {
    const used = new Set(this.tickets.flatMap(({ slots }) => slots));
    const slots: number[] = [];
    for (let slot = 0; slots.length < permits; slot++) if (!used.has(slot)) slots.push(slot);
    const ticket = { id, slots, grant: this.#numbers++, until: this.now + CLAIM_TIME };
    this.tickets.push(ticket);
    return ticket;
  }

  #isRevoked(id: string): boolean {
    return (this.revoked.get(id) ?? -Infinity) > this.now;
  }

  #push<Message>(to: Map<string, Message[]>, id: string, message: Message): void {
    to.set(clientOf(id), [...(to.get(clientOf(id)) ?? []), message]);
  }
}

function remove<T>(list: T[], which: (one: T) => boolean): boolean {
  const at = list.findIndex(which);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}

function clientOf(id: string): string {
  return id.slice(0, id.indexOf('.'));
}

function firstOf(id: string): string {
  return id.slice(id.indexOf('~') + 1);
}
