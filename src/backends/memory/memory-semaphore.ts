import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  AddPermitsCall,
  AddPermitsReply,
  AdoptCall,
  AdoptReply,
  Call,
  ExtendCall,
  ExtendReply,
  InspectCall,
  InspectReply,
  Overview,
  PushedGrant,
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
  SetRateReply,
  TicketRequest,
} from '../backend.js';
import { overviewOf } from '../overview-of.js';
import { NO_ORDER } from '../request-order.js';
import { slotsOf } from './free-slots.js';
import { isLate } from './late.js';
import { GrantPace } from './grant-pace.js';
import type { Inboxes } from './inboxes.js';
import type { Grantee, Ticket } from './live-tickets.js';
import { LiveTickets } from './live-tickets.js';
import { Notices } from './notices.js';
import type { RisingNumbers } from './rising-numbers.js';
import { SemaphoreRecord } from './semaphore-record.js';
import { clientOf, grantedVerdict, holderState } from './ticket-views.js';
import type { Waiter } from './waiting-flow.js';
import { claimTime, newWaiter, waiterState } from './waiting-flow.js';
import { WaitingLine } from './waiting-line.js';

/** What a call found when it served the queue. */
interface Served {
  readonly granted: readonly Waiter[];
  /** The first that waits for permits that may come free: others must come behind. */
  blocked: Waiter | undefined;
  /** The head, where the rate alone holds it back. */
  turn: Waiter | undefined;
  /** Whether it may be the head without knowing of it. */
  readonly moved: boolean;
}

/**
 * One semaphore in this process's memory: the algorithm of the Lua scripts, step by step, for the
 * same promises and at the same cost: O(log n) for each request, ticket, grant and range of slots.
 * Time is handed in, in milliseconds; rising numbers are in microseconds, as on a server.
 */
export class MemorySemaphore {
  readonly #key: SemaphoreKey;
  readonly #numbers: RisingNumbers;
  readonly #inboxes: Inboxes;
  readonly #tickets: LiveTickets;
  readonly #queue = new WaitingLine();
  readonly #pace = new GrantPace();
  readonly #record: SemaphoreRecord;
  readonly #notices: Notices;

  /** `record`: what is known of it from before. */
  constructor(
    key: SemaphoreKey,
    numbers: RisingNumbers,
    inboxes: Inboxes,
    record: SemaphoreRecord = new SemaphoreRecord(),
  ) {
    this.#key = key;
    this.#record = record;
    this.#numbers = numbers;
    this.#inboxes = inboxes;
    this.#tickets = new LiveTickets(numbers);
    const [tickets, queue] = [this.#tickets, this.#queue];
    this.#notices = new Notices({ key, tickets, queue, rate: record.rate, inboxes });
  }

  /** Whether nobody has used it for so long that nothing stored counts any more. */
  isForgottenAt(now: number): boolean {
    this.#record.use(this.#tickets.lastEnd);
    return now >= this.#record.forgottenAt;
  }

  /** All that is known of it, where nobody holds or waits, once what has expired is gone. */
  atRest(now: number): SemaphoreRecord | undefined {
    if (!this.isForgottenAt(now)) this.#purge(now);
    else return this.#record;
    return this.#isBusy() ? undefined : this.#record;
  }

  /**
   * Whether each of its requests has a ticket already or would get one at once, when what has
   * expired and dead clients' requests before it are gone. Grants nothing.
   */
  isFreeFor(call: AcquireCall, now: number): boolean {
    const { limit } = this.#begin(call, now);
    if (call.requests.every(({ id }) => this.#tickets.has(id))) return true;
    const looked = this.#serveQueue(limit, now, false);
    this.#pace.note(looked.granted.length, this.#queue.size, now);
    const isNext = looked.blocked === undefined;
    return isNext && call.requests.every(({ permits }) => this.#fits(permits, limit, now));
  }

  acquire(call: AcquireCall, now: number): AcquireReply {
    const { limit, told } = this.#begin(call, now);
    const { requests, ttl } = call;
    if (isLate(call, now)) {
      const verdicts = requests.map((): AcquireVerdict => ({ kind: 'late' }));
      const grants = this.#grantFreed(call, limit, now);
      return { serverTime: now, ...told, verdicts, grants, askAgainAt: undefined };
    }
    this.#record.rate.name(call, now);
    for (const request of requests) this.#requeue(request, call, now);
    const own = new Set(this.#queue.size > 0 ? requests.map(({ id }) => id) : []);
    if (requests.some(({ id }) => this.#queue.has(id))) this.#renewLease(call, now);
    const served = this.#serveQueue(limit, now);
    this.#notices.sendTurn(served.moved ? served.turn : undefined, now, call.client);
    const verdicts = requests.map((request): AcquireVerdict => {
      const ticket = this.#tickets.get(request.id);
      if (ticket === undefined) return this.#verdict(request, call, limit, now, served);
      this.#tickets.renew(request.id, now + ttl);
      return grantedVerdict(ticket);
    });
    const queued = verdicts.some(({ kind }) => kind === 'queued');
    if (queued) this.#renewLease(call, now);
    this.#pace.addTo(verdicts, requests, this.#queue, now);
    this.#pace.note(served.granted.length, this.#queue.size, now);
    const askAgainAt = queued ? this.#notices.nearest(call, served.turn, now) : undefined;
    const grants = this.#notices.sendGrants(served.granted, call.client, own);
    return { serverTime: now, ...told, verdicts, grants, askAgainAt };
  }

  extend(call: ExtendCall, now: number): ExtendReply {
    const { limit, told } = this.#begin(call, now);
    const { ids, ttl, fencingTokens } = call;
    const extended = ids.map((id, i) => {
      const ticket = this.#tickets.get(id);
      const token = fencingTokens?.[i] ?? ticket?.fencingToken;
      if (ticket === undefined || ticket.fencingToken !== token) return false;
      return this.#tickets.renew(id, now + ttl);
    });
    const revoked = ids.filter(
      (id, i) => extended[i] === false && this.#record.revoked.get(id, now) === true,
    );
    const grants = this.#grantFreed(call, limit, now);
    return { serverTime: now, ...told, extended, grants, ...(revoked.length > 0 && { revoked }) };
  }

  release(call: ReleaseCall, now: number): ReleaseReply {
    const { limit, told } = this.#begin(call, now);
    const released = call.ids.map((id) => this.#tickets.drop(id));
    for (const id of call.ids) this.#queue.remove(id);
    return { serverTime: now, ...told, released, grants: this.#grantFreed(call, limit, now) };
  }

  setLimit(call: SetLimitCall, now: number): SetLimitReply {
    const late = isLate(call, now);
    const { limits } = this.#record;
    if (!late) limits.stored = call.newLimit;
    const { told } = limits.keepCallers(() => this.#begin(call, now));
    const limit = limits.countsFor(late ? call.limit : 0);
    return { serverTime: now, ...told, late, grants: this.#grantFreed(call, limit, now) };
  }

  setRate(call: SetRateCall, now: number): SetRateReply {
    const { limit, told } = this.#begin(call, now);
    const late = isLate(call, now);
    if (!late) this.#record.rate.store(call.newRate, now);
    return { serverTime: now, ...told, late, grants: this.#grantFreed(call, limit, now) };
  }

  addPermits(call: AddPermitsCall, now: number): AddPermitsReply {
    const late = isLate(call, now);
    const change = late ? { limit: undefined, late } : this.#record.limits.change(call, now);
    const { limit, told } = this.#record.limits.keepCallers(() => this.#begin(call, now));
    return { serverTime: now, ...told, ...change, grants: this.#grantFreed(call, limit, now) };
  }

  adopt(call: AdoptCall, now: number): AdoptReply {
    const { limit, told } = this.#begin(call, now);
    const late = isLate(call, now);
    const found = late ? undefined : this.#tickets.find(call.newId, call.id);
    const ticket = found === undefined ? undefined : this.#adopt(found, call, now);
    const reply = { serverTime: now, ...told, grants: this.#grantFreed(call, limit, now) };
    if (found === undefined || ticket === undefined) return { ...reply, ticket: undefined, late };
    const { ranges, fencingToken } = ticket;
    return { ...reply, ticket: { slots: slotsOf(ranges), fencingToken, before: found.id } };
  }

  revoke(call: RevokeCall, now: number): RevokeReply {
    const { limit, told } = this.#begin(call, now);
    const { id } = call;
    const ticket = this.#tickets.get(id);
    if (ticket !== undefined) {
      this.#tickets.drop(id);
      this.#record.revoked.remember(id, true, ticket.expiresAt, now);
      this.#inboxes.pushEnded(this.#key, clientOf(id), { id, reason: 'revoked' });
    }
    const revoked = this.#record.revoked.get(id, now) === true;
    return { serverTime: now, ...told, revoked, grants: this.#grantFreed(call, limit, now) };
  }

  inspect({ limit, rate: given }: InspectCall, now: number): InspectReply {
    this.#purge(now);
    const rate = this.#record.rate.show(given, now);
    const holders = [...this.#tickets.values()].map((ticket) => holderState(ticket, now));
    const waiters = this.#queue
      .living(now)
      .map((waiter, position) => waiterState(waiter, position, now));
    const counts = { held: this.#tickets.permits, waiting: waiters.length };
    const rules = { ...this.#record.limits.show(limit), ...(rate !== undefined && { rate }) };
    return { ...rules, ...counts, holders, waiters };
  }

  overview(now: number): Overview {
    return overviewOf(this.inspect({ key: this.#key, limit: 0 }, now));
  }

  /** What every call begins with: the limit that counts, and what the caller hears of it. */
  #begin(call: Call, now: number) {
    this.#record.use(now);
    this.#purge(now);
    this.#record.rate.begin(now);
    const limit = this.#record.limits.countsFor(call.limit);
    return { limit, told: this.#record.limits.note(call, this.#isBusy()) };
  }

  #purge(now: number): void {
    this.#record.limits.used ||= this.#isBusy();
    this.#tickets.purge(now);
  }

  /** Whether somebody holds or waits. */
  #isBusy(): boolean {
    return this.#tickets.size + this.#queue.size > 0;
  }

  /** A request that was dropped (claim or lease over) returns to its old place. */
  #requeue(request: TicketRequest, call: AcquireCall, now: number): void {
    const { id, arrival } = request;
    if (arrival === undefined || this.#tickets.has(id) || this.#queue.has(id)) return;
    // Data may be lost while the clock is behind: new requests must come behind it.
    this.#numbers.keepAbove(arrival);
    this.#queue.add(newWaiter(request, call, arrival), now);
  }

  /** The caller is alive. Where it may be refused, those that are not must not be counted. */
  #renewLease({ client, maxWaiting }: AcquireCall, now: number): void {
    if (this.#queue.renewLease(client, now) && maxWaiting !== undefined) {
      this.#queue.sweep(now);
    }
  }

  #isFull({ client, maxWaiting = Infinity }: AcquireCall, now: number): boolean {
    if (this.#queue.size >= maxWaiting && this.#queue.keepLease(client, now)) {
      this.#queue.sweep(now);
    }
    return this.#queue.size >= maxWaiting;
  }

  /**
   * See `serve.lua`: dead clients' requests are dropped, what can never fit waits aside, what does
   * not fit now blocks. Without `grants` it only looks, and the first living one blocks.
   */
  #serveQueue(limit: number, now: number, grants = true): Served {
    const queue = this.#queue;
    const granted: Waiter[] = [];
    let { ordered } = queue;
    let moved = queue.unpark(limit, now);
    while (this.#tickets.permits < limit) {
      const { first } = queue;
      if (first === undefined) break;
      if (!queue.isAlive(first, now)) {
        queue.remove(first.id);
        moved = true;
      } else if (first.permits > limit) {
        queue.park(first);
        ordered = true;
      } else if (!grants || !this.#fits(first.permits, limit, now)) {
        const turn = this.#tickets.permits + first.permits <= limit ? first : undefined;
        return { granted, blocked: first, turn, moved };
      } else {
        queue.take(first);
        this.#grant(first, now, now + claimTime(first));
        granted.push(first);
        moved ||= ordered;
      }
    }
    return { granted, blocked: undefined, turn: undefined, moved };
  }

  /** On a request that has no ticket. */
  #verdict(
    request: TicketRequest,
    call: AcquireCall,
    limit: number,
    now: number,
    served: Served,
  ): AcquireVerdict {
    const { id, permits, wait, order = NO_ORDER } = request;
    const { label, ttl } = call;
    const place = this.#queue.get(id);
    if (place !== undefined) return { kind: 'queued', arrival: place.arrival };
    if (permits > limit && limit > 0) return { kind: 'over', limit };
    const { blocked } = served;
    const isNext = blocked === undefined || this.#queue.isBefore(permits, order, blocked);
    if (isNext && this.#fits(permits, limit, now)) {
      if (blocked !== undefined) this.#queue.pass(permits, order);
      return grantedVerdict(this.#grant({ id, permits, label }, now, now + ttl));
    }
    if (!wait) return { kind: 'busy' };
    if (this.#isFull(call, now)) return { kind: 'full', waiting: this.#queue.size };
    const arrival = this.#numbers.next(now);
    const waiter = newWaiter(request, call, arrival);
    this.#queue.add(waiter, now);
    if (isNext) {
      served.blocked = waiter;
      served.turn = this.#tickets.permits + permits <= limit ? waiter : undefined;
    }
    return { kind: 'queued', arrival };
  }

  /** The condition of every grant, besides its turn. */
  #fits(permits: number, limit: number, now: number): boolean {
    return this.#tickets.permits + permits <= limit && this.#record.rate.allows(permits, now);
  }

  #grant(grantee: Grantee, now: number, expiresAt: number): Ticket {
    this.#record.rate.charge(grantee.permits, now);
    return this.#tickets.grant(grantee, now, expiresAt);
  }

  #grantFreed(call: Call, limit: number, now: number): readonly PushedGrant[] {
    const served = this.#serveQueue(limit, now);
    this.#notices.sendTurn(served.turn, now);
    this.#pace.note(served.granted.length, this.#queue.size, now);
    return this.#notices.sendGrants(served.granted, call.client);
  }

  /** A call that runs again finds what it did the first time. */
  #adopt(found: Ticket, { newId, label, ttl }: AdoptCall, now: number): Ticket {
    if (found.id === newId) this.#tickets.renew(newId, now + ttl);
    if (found.id === newId) return found;
    const ended = { id: found.id, reason: 'missing' } as const;
    this.#inboxes.pushEnded(this.#key, clientOf(found.id), ended);
    return this.#tickets.adopt(found, newId, label, now, now + ttl);
  }
}
