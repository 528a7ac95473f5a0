import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  AdoptCall,
  AdoptReply,
  Call,
  EndedTicket,
  ExtendCall,
  ExtendReply,
  InspectReply,
  PushedGrant,
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SetLimitCall,
  SetLimitReply,
  TicketRequest,
} from '../backend.js';
import { CLAIM_TIME, WAITER_LEASE } from '../backend.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import { FreeSlots } from './free-slots.js';
import { LimitRecord } from './limit-record.js';

interface Ticket {
  readonly slots: number[];
  readonly fencingToken: number;
  readonly grantedAt: number;
  readonly label: string;
  expiresAt: number;
}

interface Waiter {
  readonly id: string;
  readonly permits: number;
  readonly client: string;
  readonly arrival: number;
  readonly label: string;
}

/** How clients are told: of their grants, and of tickets that were taken from them. */
export interface Announcer {
  granted(client: string, grants: readonly PushedGrant[]): void;
  ended(client: string, ended: EndedTicket): void;
}

/**
 * One semaphore in this process's memory: the algorithm of the Lua scripts, step by step, for the same
 * promises. Time is handed in, in milliseconds; rising numbers are in microseconds, as on a server.
 */
export class MemorySemaphore {
  readonly #nextNumber: (now: number) => number;
  readonly #announcer: Announcer;
  readonly #tickets = new Map<string, Ticket>();
  readonly #slots = new FreeSlots();
  readonly #leases = new Map<string, number>();
  /** Tickets that were revoked, until they would have expired. */
  readonly #revoked = new Map<string, number>();
  #queue: Waiter[] = [];
  readonly #limits = new LimitRecord();
  /** No ticket expires before this. */
  #earliest = Infinity;

  constructor(nextNumber: (now: number) => number, announcer: Announcer) {
    this.#nextNumber = nextNumber;
    this.#announcer = announcer;
  }

  /** Whether nobody would miss it, once what has expired is gone. */
  isEmptyAt(now: number): boolean {
    this.#purge(now);
    const idle = this.#tickets.size === 0 && this.#queue.length === 0;
    return idle && this.#limits.stored === undefined && this.#revoked.size === 0;
  }

  acquire(given: AcquireCall, now: number): AcquireReply {
    const { call, limits } = this.#begin(given, now);
    const { client, requests, ttl, notAfter } = call;
    const late = notAfter !== undefined && now > notAfter;
    const own = new Map(requests.map((request) => [request.id, request]));
    if (!late) {
      for (const request of requests) this.#requeue(request, call);
      if (this.#queue.some(({ id }) => own.has(id))) this.#leases.set(client, now + WAITER_LEASE);
    }
    const served = this.#serveQueue(call, now, late ? undefined : own);
    const verdicts = requests.map((request): AcquireVerdict => {
      if (late) return { kind: 'late' };
      const ticket = this.#tickets.get(request.id);
      if (ticket !== undefined) this.#renew(ticket, now + ttl);
      return this.#verdict(request, call, now, served.blocked);
    });
    const queued = verdicts.some(({ kind }) => kind === 'queued');
    if (queued) this.#leases.set(client, now + WAITER_LEASE);
    const grants = this.#announce(served.granted, call, late ? undefined : own);
    return {
      serverTime: now,
      ...limits,
      verdicts,
      grants,
      nearestExpiry: queued ? this.#findEarliest() : undefined,
    };
  }

  extend(given: ExtendCall, now: number): ExtendReply {
    const { call, limits } = this.#begin(given, now);
    const extended = call.ids.map((id, i) => {
      const ticket = this.#tickets.get(id);
      const token = call.fencingTokens?.[i] ?? ticket?.fencingToken;
      if (ticket === undefined || ticket.fencingToken !== token) return false;
      this.#renew(ticket, now + call.ttl);
      return true;
    });
    const revoked = call.ids.filter((id, i) => extended[i] === false && this.#revoked.has(id));
    const grants = this.#grantFreed(call, now);
    return { serverTime: now, ...limits, extended, grants, ...(revoked.length > 0 && { revoked }) };
  }

  release(given: ReleaseCall, now: number): ReleaseReply {
    const { call, limits } = this.#begin(given, now);
    const released = call.ids.map((id) => this.#drop(id));
    if (this.#queue.length > 0) {
      const gone = new Set(call.ids);
      this.#queue = this.#queue.filter(({ id }) => !gone.has(id));
    }
    return { serverTime: now, ...limits, released, grants: this.#grantFreed(call, now) };
  }

  setLimit(given: SetLimitCall, now: number): SetLimitReply {
    const late = given.notAfter !== undefined && now > given.notAfter;
    if (!late) this.#limits.stored = given.newLimit;
    const { call, limits } = this.#begin(given, now);
    return { serverTime: now, ...limits, late, grants: this.#grantFreed(call, now) };
  }

  adopt(given: AdoptCall, now: number): AdoptReply {
    const { call, limits } = this.#begin(given, now);
    const late = call.notAfter !== undefined && now > call.notAfter;
    const found = late ? undefined : this.#current(call);
    if (found !== undefined) this.#rename(found, call, now);
    const reply = { serverTime: now, ...limits, grants: this.#grantFreed(call, now) };
    const ticket = this.#tickets.get(call.newId);
    if (found === undefined || ticket === undefined) return { ...reply, ticket: undefined, late };
    const { slots, fencingToken } = ticket;
    return { ...reply, ticket: { slots: [...slots], fencingToken, before: found } };
  }

  revoke(given: RevokeCall, now: number): RevokeReply {
    const { call, limits } = this.#begin(given, now);
    const ticket = this.#tickets.get(call.id);
    if (ticket !== undefined) {
      this.#drop(call.id);
      this.#revoked.set(call.id, ticket.expiresAt);
      this.#announcer.ended(clientOf(call.id), { id: call.id, reason: 'revoked' });
    }
    const revoked = this.#revoked.has(call.id);
    return { serverTime: now, ...limits, revoked, grants: this.#grantFreed(call, now) };
  }

  inspect(given: number, now: number): InspectReply {
    this.#purge(now);
    const limit = this.#limits.stored ?? given;
    const holders = [...this.#tickets].map(([id, ticket]) => ({
      id,
      slots: [...ticket.slots],
      fencingToken: ticket.fencingToken,
      expiresIn: ticket.expiresAt - now,
      heldFor: now - ticket.grantedAt,
      label: ticket.label,
    }));
    const waiters = this.#queue
      .filter(({ client }) => this.#alive(client))
      .map(({ id, permits, arrival, label }, position) => {
        const waitingFor = Math.max(0, now - arrival / 1000);
        return { id, permits, position, waitingFor, label };
      });
    return { limit, held: this.#slots.used, waiting: waiters.length, holders, waiters };
  }

  /** What every call begins with: the limit that counts, and what the caller is told of it. */
  #begin<C extends Call>(given: C, now: number) {
    const begun = this.#limits.begin(given, this.#tickets.size + this.#queue.length > 0);
    this.#purge(now);
    return begun;
  }

  /** The id that the ticket to adopt has now. A call that runs again finds what it did the first time. */
  #current({ id, newId }: AdoptCall): string | undefined {
    for (const each of [newId, id]) if (this.#tickets.has(each)) return each;
    for (const each of this.#tickets.keys()) if (firstId(each) === firstId(id)) return each;
    return undefined;
  }

  #rename(before: string, { newId, label, ttl }: AdoptCall, now: number): void {
    const ticket = this.#tickets.get(before);
    if (ticket === undefined) return;
    if (before === newId) return this.#renew(ticket, now + ttl);
    this.#tickets.delete(before);
    const { slots } = ticket;
    const fencingToken = this.#nextNumber(now);
    const renamed = { slots, fencingToken, label, grantedAt: now, expiresAt: now + ttl };
    this.#tickets.set(newId, renamed);
    this.#renew(renamed, now + ttl);
    this.#announcer.ended(clientOf(before), { id: before, reason: 'missing' });
  }

  #purge(now: number): void {
    for (const [id, until] of this.#revoked) if (until <= now) this.#revoked.delete(id);
    for (const [client, until] of this.#leases) if (until <= now) this.#leases.delete(client);
    if (now < this.#earliest) return;
    for (const [id, { expiresAt }] of this.#tickets) if (expiresAt <= now) this.#drop(id);
    this.#earliest = this.#findEarliest() ?? Infinity;
  }

  #renew(ticket: Ticket, until: number): void {
    ticket.expiresAt = until;
    this.#earliest = Math.min(this.#earliest, until);
  }

  #findEarliest(): number | undefined {
    let earliest: number | undefined;
    for (const { expiresAt } of this.#tickets.values()) {
      if (earliest === undefined || expiresAt < earliest) earliest = expiresAt;
    }
    return earliest;
  }

  #drop(id: string): boolean {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return false;
    this.#tickets.delete(id);
    this.#slots.giveBack(ticket.slots);
    return true;
  }

  /** A request that was dropped (claim or lease over) returns to its old place. */
  #requeue({ id, permits, arrival }: TicketRequest, { client, label }: AcquireCall): void {
    if (arrival === undefined || this.#tickets.has(id)) return;
    if (this.#queue.some((waiter) => waiter.id === id)) return;
    const at = this.#queue.findIndex((waiter) => waiter.arrival > arrival);
    const waiter = { id, permits, client, arrival, label };
    this.#queue.splice(at < 0 ? this.#queue.length : at, 0, waiter);
  }

  /** See `grant.lua`: dead clients' requests are dropped, what can never fit is stepped over, what does not fit now blocks. */
  #serveQueue(call: Call & { ttl?: number }, now: number, own?: ReadonlyMap<string, unknown>) {
    const granted: Waiter[] = [];
    const gone = new Set<Waiter>();
    let blocked = false;
    for (const waiter of this.#queue) {
      if (this.#slots.used >= call.limit || blocked) break;
      if (!this.#alive(waiter.client)) gone.add(waiter);
      else if (waiter.permits <= call.limit) {
        blocked = this.#slots.used + waiter.permits > call.limit;
        if (blocked) break;
        const life = own?.has(waiter.id) === true ? (call.ttl ?? CLAIM_TIME) : CLAIM_TIME;
        this.#grant(waiter, now, now + life);
        granted.push(waiter);
        gone.add(waiter);
      }
    }
    if (gone.size > 0) this.#queue = this.#queue.filter((waiter) => !gone.has(waiter));
    return { granted, blocked: blocked || this.#queue.some((w) => w.permits <= call.limit) };
  }

  #alive(client: string): boolean {
    return this.#leases.has(client);
  }

  #grant(
    { id, permits, label }: Pick<Waiter, 'id' | 'permits' | 'label'>,
    now: number,
    until: number,
  ) {
    const ticket: Ticket = {
      slots: this.#slots.take(permits),
      fencingToken: this.#nextNumber(now),
      grantedAt: now,
      label,
      expiresAt: until,
    };
    this.#tickets.set(id, ticket);
    this.#earliest = Math.min(this.#earliest, until);
    return ticket;
  }

  #verdict(
    request: TicketRequest,
    call: AcquireCall,
    now: number,
    blocked: boolean,
  ): AcquireVerdict {
    const { id, permits, wait } = request;
    const { client, label, limit, ttl } = call;
    let ticket = this.#tickets.get(id);
    const place = this.#queue.find((waiter) => waiter.id === id);
    if (ticket === undefined && place !== undefined) {
      return { kind: 'queued', arrival: place.arrival };
    }
    if (ticket === undefined && permits > limit) return { kind: 'over', limit };
    const behind = blocked || this.#queue.some((waiter) => waiter.permits <= limit);
    if (ticket === undefined && !behind && this.#slots.used + permits <= limit) {
      ticket = this.#grant({ id, permits, label }, now, now + ttl);
    }
    if (ticket !== undefined) {
      return { kind: 'granted', fencingToken: ticket.fencingToken, slots: [...ticket.slots] };
    }
    if (!wait) return { kind: 'busy' };
    const arrival = this.#nextNumber(now);
    this.#queue.push({ id, permits, client, arrival, label });
    return { kind: 'queued', arrival };
  }

  #grantFreed(call: Call, now: number): readonly PushedGrant[] {
    return this.#announce(this.#serveQueue(call, now).granted, call);
  }

  /** Tells other clients of their grants; those of the caller go with its reply. */
  #announce(
    granted: readonly Waiter[],
    call: Call,
    own?: ReadonlyMap<string, unknown>,
  ): readonly PushedGrant[] {
    const byClient = new Map<string, PushedGrant[]>();
    for (const { id, client } of granted) {
      const ticket = this.#tickets.get(id);
      if (ticket === undefined || own?.has(id) === true) continue;
      const { fencingToken, slots, expiresAt } = ticket;
      const grants = byClient.get(client) ?? [];
      byClient.set(client, [...grants, { id, fencingToken, slots: [...slots], expiresAt }]);
    }
    for (const [client, grants] of byClient) {
      if (client !== call.client) this.#announcer.granted(client, grants);
    }
    return byClient.get(call.client) ?? [];
  }
}

function clientOf(id: string): string {
  return parseTicketId(id)?.client ?? '';
}
