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
import { CLAIM_TIME_MS, WAITER_LEASE_MS } from '../protocol.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import type { Arrival } from './arrival-queue.js';
import { ArrivalQueue } from './arrival-queue.js';
import type { Mortal } from './expiring.js';
import { Expiring } from './expiring.js';
import type { SlotRange } from './free-slots.js';
import { FreeSlots, slotsOf } from './free-slots.js';
import { LimitRecord } from './limit-record.js';

interface Ticket extends Mortal {
  readonly ranges: readonly SlotRange[];
  readonly fencingToken: number;
  readonly label: string;
}

interface Waiter extends Arrival {
  readonly permits: number;
  readonly client: string;
  readonly label: string;
  /** What a ticket of its own would get. */
  readonly ttl: number;
}

/** What a call found when it served the queue. */
interface Served {
  readonly granted: readonly Waiter[];
  /** Somebody waits for permits that may come free: whoever comes now must come behind. */
  blocked: boolean;
}

/** How clients are told: of their grants, and of tickets that were taken from them. */
export interface Announcer {
  granted(client: string, grants: readonly PushedGrant[]): void;
  ended(client: string, ended: EndedTicket): void;
}

/**
 * One semaphore in this process's memory: the algorithm of the Lua scripts, step by step, for the same
 * promises and at the same cost: O(log n) for each request, ticket, grant and range of slots. Time is handed in, in
 * milliseconds; rising numbers are in microseconds, as on a server.
 */
export class MemorySemaphore {
  readonly #nextNumber: (now: number) => number;
  readonly #announcer: Announcer;
  readonly #tickets = new Expiring<Ticket>();
  /** The ids that adopted tickets have now, by their first. */
  readonly #adopted = new Map<string, string>();
  readonly #slots = new FreeSlots();
  /** Clients that have requests in the queue, while they count. */
  readonly #leases = new Expiring<Mortal>();
  /** Tickets that were revoked, until they would have expired. */
  readonly #revoked = new Expiring<Mortal>();
  readonly #queue = new ArrivalQueue<Waiter>();
  readonly #limits = new LimitRecord();

  constructor(nextNumber: (now: number) => number, announcer: Announcer) {
    this.#nextNumber = nextNumber;
    this.#announcer = announcer;
  }

  /** Whether nobody would miss it, once what has expired is gone. */
  isEmptyAt(now: number): boolean {
    this.#purge(now);
    const idle = this.#tickets.size === 0 && this.#queue.size === 0;
    return idle && this.#limits.stored === undefined && this.#revoked.size === 0;
  }

  acquire(given: AcquireCall, now: number): AcquireReply {
    const { call, limits } = this.#begin(given, now);
    const { client, requests, ttl, notAfter } = call;
    const late = notAfter !== undefined && now > notAfter;
    const own = late ? undefined : new Set(requests.map(({ id }) => id));
    if (!late) {
      for (const request of requests) this.#requeue(request, call);
      if (requests.some(({ id }) => this.#queue.has(id))) this.#renewLease(client, now);
    }
    const served = this.#serveQueue(call, now, own);
    const verdicts = requests.map((request): AcquireVerdict => {
      if (late) return { kind: 'late' };
      const ticket = this.#tickets.get(request.id);
      if (ticket !== undefined) this.#tickets.renew(ticket, now + ttl);
      return this.#verdict(request, call, now, served);
    });
    const queued = verdicts.some(({ kind }) => kind === 'queued');
    if (queued) this.#renewLease(client, now);
    const grants = this.#announce(served.granted, call, own);
    return {
      serverTime: now,
      ...limits,
      verdicts,
      grants,
      nearestExpiry: queued ? this.#tickets.nearest : undefined,
    };
  }

  extend(given: ExtendCall, now: number): ExtendReply {
    const { call, limits } = this.#begin(given, now);
    const extended = call.ids.map((id, i) => {
      const ticket = this.#tickets.get(id);
      const token = call.fencingTokens?.[i] ?? ticket?.fencingToken;
      if (ticket === undefined || ticket.fencingToken !== token) return false;
      this.#tickets.renew(ticket, now + call.ttl);
      return true;
    });
    const revoked = call.ids.filter((id, i) => extended[i] === false && this.#revoked.has(id));
    const grants = this.#grantFreed(call, now);
    return { serverTime: now, ...limits, extended, grants, ...(revoked.length > 0 && { revoked }) };
  }

  release(given: ReleaseCall, now: number): ReleaseReply {
    const { call, limits } = this.#begin(given, now);
    const released = call.ids.map((id) => this.#drop(id));
    for (const id of call.ids) this.#queue.remove(id);
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
    const { ranges, fencingToken } = ticket;
    return { ...reply, ticket: { slots: slotsOf(ranges), fencingToken, before: found } };
  }

  revoke(given: RevokeCall, now: number): RevokeReply {
    const { call, limits } = this.#begin(given, now);
    const ticket = this.#tickets.get(call.id);
    if (ticket !== undefined) {
      this.#drop(call.id);
      this.#revoked.remove(call.id);
      this.#revoked.add({ id: call.id, expiresAt: ticket.expiresAt, place: 0 });
      this.#announcer.ended(clientOf(call.id), { id: call.id, reason: 'revoked' });
    }
    const revoked = this.#revoked.has(call.id);
    return { serverTime: now, ...limits, revoked, grants: this.#grantFreed(call, now) };
  }

  inspect(given: number, now: number): InspectReply {
    this.#purge(now);
    const holders = [...this.#tickets.values()].map((ticket) => ({
      id: ticket.id,
      slots: slotsOf(ticket.ranges),
      fencingToken: ticket.fencingToken,
      expiresIn: ticket.expiresAt - now,
      heldFor: Math.max(0, now - ticket.fencingToken / 1000),
      label: ticket.label,
    }));
    const waiters = [...this.#queue]
      .filter(({ client }) => this.#alive(client))
      .map(({ id, permits, arrival, label }, position) => {
        const waitingFor = Math.max(0, now - arrival / 1000);
        return { id, permits, position, waitingFor, label };
      });
    const counts = { held: this.#slots.used, waiting: waiters.length };
    return { ...this.#limits.show(given), ...counts, holders, waiters };
  }

  /** What every call begins with: the limit that counts, and what the caller is told of it. */
  #begin<C extends Call>(given: C, now: number) {
    this.#purge(now);
    return this.#limits.begin(given, this.#tickets.size + this.#queue.size > 0);
  }

  /** The id that the ticket to adopt has now. A call that runs again finds what it did the first time. */
  #current({ id, newId }: AdoptCall): string | undefined {
    const origin = firstId(id);
    const found = [newId, id, this.#adopted.get(origin) ?? origin];
    return found.find((each) => this.#tickets.has(each));
  }

  #rename(before: string, { newId, label, ttl }: AdoptCall, now: number): void {
    const ticket = this.#tickets.get(before);
    if (ticket === undefined) return;
    if (before === newId) return this.#tickets.renew(ticket, now + ttl);
    this.#tickets.remove(before);
    const fencingToken = this.#nextNumber(now);
    const { ranges } = ticket;
    const expiresAt = now + ttl;
    this.#tickets.add({ id: newId, ranges, fencingToken, label, expiresAt, place: 0 });
    this.#adopted.set(firstId(newId), newId);
    this.#announcer.ended(clientOf(before), { id: before, reason: 'missing' });
  }

  #purge(now: number): void {
    while (this.#revoked.takeExpired(now) !== undefined);
    while (this.#leases.takeExpired(now) !== undefined);
    for (;;) {
      const ticket = this.#tickets.takeExpired(now);
      if (ticket === undefined) return;
      this.#giveBack(ticket);
    }
  }

  #drop(id: string): boolean {
    const ticket = this.#tickets.remove(id);
    if (ticket !== undefined) this.#giveBack(ticket);
    return ticket !== undefined;
  }

  #giveBack({ id, ranges }: Ticket): void {
    this.#slots.giveBack(ranges);
    const origin = firstId(id);
    if (this.#adopted.get(origin) === id) this.#adopted.delete(origin);
  }

  #renewLease(client: string, now: number): void {
    const lease = this.#leases.get(client);
    const expiresAt = now + WAITER_LEASE_MS;
    if (lease === undefined) this.#leases.add({ id: client, expiresAt, place: 0 });
    else this.#leases.renew(lease, expiresAt);
  }

  /** A request that was dropped (claim or lease over) returns to its old place. */
  #requeue({ id, permits, arrival }: TicketRequest, { client, label, ttl }: AcquireCall): void {
    if (arrival === undefined || this.#tickets.has(id) || this.#queue.has(id)) return;
    this.#queue.add({ id, permits, client, arrival, label, ttl });
  }

  /** See `serve.lua`: dead clients' requests are dropped, what can never fit is stepped over, what does not fit now blocks. */
  #serveQueue(call: Call & { ttl?: number }, now: number, own?: ReadonlySet<string>): Served {
    const granted: Waiter[] = [];
    if (this.#slots.used >= call.limit) return { granted, blocked: false };
    for (const waiter of this.#queue) {
      if (!this.#alive(waiter.client)) this.#queue.remove(waiter.id);
      else if (waiter.permits <= call.limit) {
        if (this.#slots.used + waiter.permits > call.limit) return { granted, blocked: true };
        this.#queue.remove(waiter.id);
        const mine = own?.has(waiter.id) === true;
        const life = mine ? (call.ttl ?? CLAIM_TIME_MS) : Math.min(waiter.ttl, CLAIM_TIME_MS);
        this.#grant(waiter, now, now + life);
        granted.push(waiter);
        if (this.#slots.used >= call.limit) break;
      }
    }
    return { granted, blocked: false };
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
      id,
      ranges: this.#slots.take(permits),
      fencingToken: this.#nextNumber(now),
      label,
      expiresAt: until,
      place: 0,
    };
    this.#tickets.add(ticket);
    return ticket;
  }

  #verdict(request: TicketRequest, call: AcquireCall, now: number, served: Served): AcquireVerdict {
    const { id, permits, wait } = request;
    const { client, label, limit, ttl } = call;
    let ticket = this.#tickets.get(id);
    const place = this.#queue.get(id);
    if (ticket === undefined && place !== undefined) {
      return { kind: 'queued', arrival: place.arrival };
    }
    if (ticket === undefined && permits > limit) return { kind: 'over', limit };
    if (ticket === undefined && !served.blocked && this.#slots.used + permits <= limit) {
      ticket = this.#grant({ id, permits, label }, now, now + ttl);
    }
    if (ticket !== undefined) {
      const { fencingToken, ranges } = ticket;
      return { kind: 'granted', fencingToken, slots: slotsOf(ranges) };
    }
    if (!wait) return { kind: 'busy' };
    const arrival = this.#nextNumber(now);
    this.#queue.add({ id, permits, client, arrival, label, ttl });
    served.blocked = true;
    return { kind: 'queued', arrival };
  }

  #grantFreed(call: Call, now: number): readonly PushedGrant[] {
    const { granted } = this.#serveQueue(call, now);
    return this.#announce(granted, call);
  }

  /** Tells other clients of their grants; those of the caller go with its reply. */
  #announce(
    granted: readonly Waiter[],
    call: Call,
    own?: ReadonlySet<string>,
  ): readonly PushedGrant[] {
    const byClient = new Map<string, PushedGrant[]>();
    for (const { id, client } of granted) {
      const ticket = this.#tickets.get(id);
      if (ticket === undefined || own?.has(id) === true) continue;
      const { fencingToken, ranges, expiresAt } = ticket;
      const grants = byClient.get(client) ?? [];
      grants.push({ id, fencingToken, slots: slotsOf(ranges), expiresAt });
      byClient.set(client, grants);
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
