import {
  clientOf,
  type Report,
  type SemaphoreSettings,
  type ServedEvent,
  type ServedGrant,
  type ServedOrder,
  type ServedRequest,
} from '../history/events.js';
import { Meters } from './meters.js';
import { comesFirst, groupOf, isSameFlow, type Ordered, Turns } from './turns.js';

/** A ticket as the answers of the server show it. */
export interface LiveTicket {
  readonly semaphore: string;
  readonly id: string;
  readonly token: number;
  readonly slots: readonly number[];
  /** Undefined: the request is not known. */
  readonly group: string | undefined;
  /** True time of its grant. */
  readonly grantedAt: number;
  /** By the server's clock. */
  expiresAt: number;
  /** Since its renewal the clock was stepped or old data came back: its end may come early. */
  doubtful: boolean;
  /** It came back with old data, with a holder or without. */
  restored?: boolean;
}

export type EndCause = 'expired' | 'released' | 'revoked' | 'adopted' | 'lost' | 'stepped';

export interface TicketWatcher {
  /** `at`: when it ended; `now`: when that is seen. */
  onTicketEnd(ticket: LiveTicket, cause: EndCause, at: number, now: number): void;
  /** The ticket is there again, with old data. */
  onTicketBack(ticket: LiveTicket): void;
}

export interface Waiter {
  readonly id: string;
  readonly permits: number;
  readonly order: ServedOrder | undefined;
  readonly cost: ServedRequest['cost'];
  readonly arrival: number;
  /** It came back with old data, with a caller or without. */
  restored?: boolean;
}

/** How long a process's requests count without a sign of life from it, in milliseconds. */
const WAITER_LEASE = 5000;

const nothing = (): void => undefined;

interface Grant extends ServedGrant {
  /** Undefined: as many as the request that waited asked for. */
  readonly permits?: number;
}

/** One semaphore as it must be after the calls that were served: tickets, and requests in order. */
export class ModelledSemaphore {
  readonly name: string;
  readonly tickets = new Map<string, LiveTicket>();
  queue: Waiter[] = [];
  limit: number;
  readonly #leases = new Map<string, number>();
  /** By the last call of each client alone. */
  readonly #surely = new Map<string, number>();
  /** Leases that the server's clock was set back under. */
  readonly #prolonged = new Map<string, number>();
  /** Whether a request of the call had waited before. */
  #recalled = false;
  readonly #revoked = new Set<string>();
  /**
   * Requests that may be gone until they ask again: by the shorter lease that is possible, their
   * process was silent for too long. A call for other requests does not bring them back.
   */
  readonly #dropped = new Set<string>();
  /**
   * False once arrivals in the queue may be of two clocks: data were lost, and tokens began again.
   */
  ordered = true;
  /** False while a ticket may be there that had ended before the clock was set back. */
  certain = true;
  readonly #hasGroups: boolean;
  readonly #meters: Meters;
  /** Permits that each group may hold. */
  #cap: number | undefined;
  readonly #wereCapped = new WeakSet<Waiter>();
  readonly #turns = new Turns<Waiter>();
  /** When it is certain again, by the server's clock. */
  doubtedUntil = -Infinity;
  #now = 0;
  #problem: (rule: string, message: string) => void = nothing;
  /** For rules that do not depend on which tickets have ended. */
  #certainProblem: (rule: string, message: string) => void = nothing;
  #watcher: TicketWatcher | undefined;

  constructor(settings: SemaphoreSettings) {
    this.name = settings.name;
    this.limit = settings.limit;
    this.#hasGroups = settings.groups === true;
    this.#meters = new Meters(settings);
    this.#cap = settings.groupLimit;
  }

  get used(): number {
    let used = 0;
    for (const { slots } of this.tickets.values()) used += slots.length;
    return used;
  }

  /** Whether a request still counts. */
  isAlive({ id }: Waiter): boolean {
    return (this.#leases.get(clientOf(id)) ?? -Infinity) > this.#now;
  }

  /** Whether it counts though the queue was empty, and with it all leases went, before it came. */
  #isSurelyAlive({ id }: Waiter): boolean {
    return (this.#surely.get(clientOf(id)) ?? -Infinity) > this.#now;
  }

  /** Until when its process's requests count, by the server's clock. */
  aliveUntil({ id }: Waiter): number {
    return this.#leases.get(clientOf(id)) ?? -Infinity;
  }

  /** Whether its lease lasts longer, because the server's clock was set back meanwhile. */
  isProlonged(one: Waiter): boolean {
    return this.#prolonged.get(clientOf(one.id)) === this.aliveUntil(one);
  }

  /** The requests that count, in order of arrival. */
  waiting(): Waiter[] {
    return this.queue.filter((one) => this.#counts(one));
  }

  #hasRoom(asked: Ordered): boolean {
    if (this.#cap === undefined) return true;
    let held = asked.permits;
    for (const { group, slots } of this.tickets.values()) {
      if (group === groupOf(asked)) held += slots.length;
    }
    return held <= this.#cap;
  }

  /** Whether the limit of its group holds back a request of its flow up to this one. */
  #isCapped(one: Waiter, among: readonly Waiter[] = this.queue): boolean {
    if (this.#cap === undefined) return false;
    const upTo = among.slice(0, among.indexOf(one) + 1);
    const isCapped = upTo.some((other) => isSameFlow(other, one) && !this.#hasRoom(other));
    if (isCapped) this.#wereCapped.add(one);
    return isCapped;
  }

  #counts(one: Waiter): boolean {
    return one.permits <= this.limit && this.#isSurelyAlive(one) && !this.#dropped.has(one.id);
  }

  /** Without a watcher: the call is repeated. */
  apply(event: ServedEvent, report: Report, watcher?: TicketWatcher): void {
    this.#watcher = watcher;
    this.#now = event.time;
    this.#expire(event);
    for (const one of this.queue) if (!this.#isSurelyAlive(one)) this.#dropped.add(one.id);
    if (event.time > this.doubtedUntil) this.certain = true;
    this.#meters.passTo(event.time);
    this.#certainProblem = (rule, message) => report(rule, event.at, message);
    this.#problem = (rule, message) => {
      if (this.certain) report(rule, event.at, message);
    };
    switch (event.operation) {
      case 'acquire':
        this.#acquire(event);
        break;
      case 'extend':
        this.#extend(event);
        break;
      case 'release':
        this.#release(event);
        break;
      case 'revoke':
        this.#revoke(event);
        break;
      case 'setLimit':
        this.#judgeTime(event, event.late === true);
        if (event.late !== true) this.limit = event.newLimit ?? this.limit;
        break;
      case 'setRate':
      case 'setGroupLimit':
        this.#judgeTime(event, event.late === true);
        if (event.late !== true) this.#setRules(event);
        break;
      case 'adopt':
        this.#adopt(event);
        break;
    }
    if (event.operation !== 'acquire') this.#grantAll(event, event.grants);
    // A permit that time alone frees is granted when the head asks again, not by an extension.
    if (event.operation !== 'extend' || this.#meters.areNone) this.#judgeIdle();
  }

  #setRules({ newRate, budget, newGroupLimit }: ServedEvent): void {
    if (newRate !== undefined) this.#meters.change(newRate, budget);
    if (newGroupLimit !== undefined) this.#cap = newGroupLimit ?? undefined;
  }

  /**
   * The clock is set back from that time: an expired ticket may be there until it expires again.
   */
  doubt(before: number): void {
    for (const { expiresAt } of this.tickets.values()) {
      if (expiresAt <= before) this.doubtUntil(expiresAt);
    }
    for (const one of this.queue) if (this.aliveUntil(one) <= before) this.#dropped.add(one.id);
    for (const [client, until] of this.#leases) this.#prolonged.set(client, until);
  }

  doubtUntil(time: number): void {
    this.certain = false;
    this.doubtedUntil = Math.max(this.doubtedUntil, time);
  }

  /** Tickets end by time alone. */
  #expire({ at, time }: ServedEvent): void {
    for (const ticket of this.tickets.values()) {
      if (ticket.expiresAt > time) continue;
      this.tickets.delete(ticket.id);
      const cause = ticket.doubtful ? 'stepped' : 'expired';
      const ended = ticket.doubtful ? at : at - (time - ticket.expiresAt);
      this.#watcher?.onTicketEnd(ticket, cause, ended, at);
    }
  }

  #acquire(event: ServedEvent): void {
    const { requests = [], time, ttl = 0 } = event;
    const late = requests.length > 0 && requests.every(({ verdict }) => verdict === 'late');
    this.#judgeTime(event, late);
    if (!late) this.#enqueueAgain(requests, event);
    const fresh = requests.filter(
      ({ id, verdict, token }) => verdict === 'granted' && this.tickets.get(id)?.token !== token,
    );
    for (const { id, verdict } of requests) {
      if (verdict === 'granted' && this.tickets.has(id) && fresh.some((one) => one.id === id)) {
        this.#problem('idempotent', `${id} was granted another ticket while it had one`);
      }
    }
    for (const request of requests) this.#renew(request, event);
    const own = fresh.map(({ id, permits, token = 0, slots = [] }) => {
      return { id, permits, token, slots, expiresAt: time + ttl };
    });
    this.#grantAll(event, [...own, ...event.grants]);
    this.#enqueue(requests, event);
    this.#judgeBusy(requests);
  }

  #renew({ id, verdict, slots = [] }: ServedRequest, { time, ttl = 0 }: ServedEvent): void {
    const ticket = this.tickets.get(id);
    if (verdict !== 'granted' || ticket === undefined) return;
    if (slots.join() !== ticket.slots.join()) {
      this.#problem('idempotent', `${id} had slots ${ticket.slots.join()} and got ${slots.join()}`);
    }
    ticket.expiresAt = time + ttl;
    ticket.doubtful = false;
  }

  /** A dropped request returns to the arrival that it names. */
  #enqueueAgain(requests: readonly ServedRequest[], event: ServedEvent): void {
    for (const { id, permits, order, cost, arrival, place, verdict } of requests) {
      if (arrival === undefined || verdict === 'late') continue;
      // A command that came twice and named no arrival may have given it another one meanwhile.
      if (place === arrival && this.#dropped.has(id)) this.#leave(id);
      this.#queueUp({ id, permits, order, cost, arrival });
      this.#dropped.delete(id);
    }
    const own = requests.find(({ id }) => this.queue.some((one) => one.id === id));
    this.#recalled = own !== undefined;
    if (own !== undefined) this.#keepLease(clientOf(own.id), event);
  }

  /**
   * The requests of a client that asks count until 5 s after now, or after its turn. A call with
   * new requests alone leaves a later turn of the other requests as it is.
   */
  #keepLease(client: string, { time, turnAt }: ServedEvent): void {
    const known = this.#leases.get(client) ?? -Infinity;
    const until = Math.max(time, turnAt ?? time) + WAITER_LEASE;
    const isLast = this.#recalled && turnAt !== undefined;
    this.#leases.set(client, isLast ? until : Math.max(until, known));
    this.#surely.set(client, until);
  }

  #enqueue(requests: readonly ServedRequest[], event: ServedEvent): void {
    for (const { id, permits, order, cost, arrival, place, verdict } of requests) {
      if (verdict === 'queued') {
        // A dropped request whose process does not know its arrival gets a new one.
        if (arrival === undefined && this.#dropped.has(id)) this.#leave(id);
        this.#queueUp({ id, permits, order, cost, arrival: place ?? Infinity });
        this.#dropped.delete(id);
        this.#keepLease(clientOf(id), event);
      } else if (verdict !== 'late') this.#leave(id);
    }
  }

  #queueUp(waiter: Waiter): void {
    if (this.tickets.has(waiter.id) || this.queue.some(({ id }) => id === waiter.id)) return;
    const at = this.queue.findIndex(({ arrival }) => arrival > waiter.arrival);
    this.queue.splice(at < 0 ? this.queue.length : at, 0, waiter);
    this.#turns.noteWaiting(this.queue.length);
  }

  #leave(id: string): void {
    this.queue = this.queue.filter((one) => one.id !== id);
  }

  /** In the order of the grants. */
  #grantAll(event: ServedEvent, grants: readonly Grant[]): void {
    const inOrder = grants.toSorted((a, b) => a.token - b.token);
    for (const grant of inOrder) this.#grant(event, grant);
  }

  #grant(event: ServedEvent, grant: Grant): void {
    const { at } = event;
    const waiter = this.queue.find((one) => one.id === grant.id);
    const { id, token, slots, expiresAt, permits = waiter?.permits } = grant;
    const asked = waiter ?? event.requests?.find((one) => one.id === id);
    this.#judgeOrder(id, waiter, asked, event);
    if (asked !== undefined) {
      this.#judgeTurns(id, asked);
      this.#judgeLimits(id, asked);
    }
    const taken = new Set([...this.tickets.values()].flatMap((ticket) => [...ticket.slots]));
    if (taken.size + slots.length > this.limit) {
      this.#problem('limit', `${id} makes ${taken.size + slots.length} permits of ${this.limit}`);
    }
    const wrong = slots.filter((slot) => taken.has(slot) || slot < 0 || slot >= this.limit);
    const distinct = new Set(slots).size === slots.length;
    if (wrong.length > 0 || !distinct || (permits !== undefined && permits !== slots.length)) {
      const message = `${id} got slots ${slots.join()} of ${this.limit}; ${[...taken].join()} are taken`;
      this.#problem('slots', message);
    }
    const group = asked && groupOf(asked);
    const ticket = { semaphore: this.name, id, token, slots, group, grantedAt: at };
    this.tickets.set(id, { ...ticket, expiresAt, doubtful: false });
    this.#leave(id);
  }

  /** All or none over the rate and every budget, and no group above its limit. */
  #judgeLimits(id: string, asked: Waiter | ServedRequest): void {
    if (!this.#hasRoom(asked)) {
      this.#problem('cap', `${id} makes group '${groupOf(asked)}' hold more than ${this.#cap}`);
    }
    for (const name of this.#meters.charge(id, asked)) {
      this.#certainProblem('budget', `${id} was granted, which ${name} does not allow yet`);
    }
  }

  #judgeOrder(
    id: string,
    waiter: Waiter | undefined,
    asked: Ordered | undefined,
    { requests = [] }: ServedEvent,
  ): void {
    if (!this.ordered) return;
    // The call itself shows that its process lives: the request may be dropped or not.
    const asks = requests.some(
      (one) => one.verdict !== 'late' && clientOf(one.id) === clientOf(id),
    );
    if (waiter !== undefined && !this.isAlive(waiter) && !asks) {
      this.#problem('dead-waiter', `${id} was granted though its process was silent for too long`);
    }
    const end = waiter === undefined ? Infinity : this.queue.indexOf(waiter);
    const passed = this.#hasGroups
      ? this.#firstBefore(asked, waiter)
      : this.queue.slice(0, end).find((one) => this.#counts(one));
    if (passed !== undefined)
      this.#problem('order', `${id} was granted before ${passed.id}, which waits`);
  }

  /** A request that must be granted before this one whatever groups got until now. */
  #firstBefore(asked: Ordered | undefined, waiter: Waiter | undefined): Waiter | undefined {
    if (asked === undefined) return undefined;
    const arrival = waiter?.arrival ?? Infinity;
    return this.queue.find(
      (one) =>
        this.#counts(one) &&
        comesFirst(one, asked, arrival) &&
        (isSameFlow(one, asked) || !this.#isCapped(one)),
    );
  }

  /** Every other request whose process lives is granted within a bound of grants. */
  #judgeTurns(id: string, granted: Ordered): void {
    for (const one of this.queue) {
      if (one.id === id || !this.#counts(one) || this.#isCapped(one)) this.#turns.forget(one);
      else if (this.#turns.isStarved(one, granted)) {
        this.#problem('starved', `${one.id} waits while too many others are granted, now ${id}`);
      }
    }
  }

  #extend({ tickets = [], time, at, ttl = 0 }: ServedEvent): void {
    for (const { id, token, there } of tickets) {
      const ticket = this.tickets.get(id);
      const live = ticket !== undefined && (token === undefined || token === ticket.token);
      if (live !== there) {
        const [was, is] = [there ? '' : 'not ', live ? '' : 'not '];
        this.#problem('extend', `${id} was ${was}extended, and is ${is}there`);
      }
      if (!live) continue;
      if (!there) {
        this.tickets.delete(id);
        this.#watcher?.onTicketEnd(ticket, 'stepped', at, at);
      }
      ticket.expiresAt = time + ttl;
      ticket.doubtful = false;
    }
  }

  #release({ tickets = [], at }: ServedEvent): void {
    for (const { id, there, spent } of tickets) {
      if (there && spent !== undefined) this.#meters.settle(id, spent);
      const ticket = this.tickets.get(id);
      if ((ticket !== undefined) !== there) {
        const was = there ? '' : 'not ';
        this.#problem('release', `${id} was ${was}there, by the answer to its release`);
      }
      this.#leave(id);
      if (ticket === undefined) continue;
      this.tickets.delete(id);
      this.#watcher?.onTicketEnd(ticket, 'released', at, at);
    }
  }

  #revoke({ tickets = [], at }: ServedEvent): void {
    for (const { id, there } of tickets) {
      const ticket = this.tickets.get(id);
      if (ticket !== undefined && !there)
        this.#problem('revoke', `${id} was there and not revoked`);
      if (ticket === undefined && there && !this.#revoked.has(id)) {
        this.#problem('revoke', `${id} was not there and was revoked`);
      }
      if (ticket === undefined) continue;
      this.#revoked.add(id);
      this.tickets.delete(id);
      this.#watcher?.onTicketEnd(ticket, 'revoked', at, at);
    }
  }

  #adopt(event: ServedEvent): void {
    this.#judgeTime(event, event.late === true);
    const { adopted, at, time, ttl = 0 } = event;
    if (adopted === undefined) return;
    const { id, before, token, slots } = adopted;
    const ticket = this.tickets.get(before);
    if (ticket === undefined || slots.join() !== ticket.slots.join()) {
      const message = `${before} became ${id} with slots ${slots.join()}, and was not there with them`;
      return this.#problem('adopt', message);
    }
    if (before !== id) {
      this.tickets.delete(before);
      this.#watcher?.onTicketEnd(ticket, 'adopted', at, at);
      this.#meters.rename(before, id);
      const renamed = { ...ticket, id, token, slots, grantedAt: at, doubtful: false };
      this.tickets.set(id, { ...renamed, expiresAt: time + ttl });
    } else {
      ticket.expiresAt = time + ttl;
      ticket.doubtful = false;
    }
  }

  /** A call must not take effect after the time that it names. */
  #judgeTime({ notAfter = Infinity, time, operation }: ServedEvent, late: boolean): void {
    if (late === time > notAfter) return;
    const what = late ? 'refused as late before' : 'acted after';
    this.#problem('late', `${operation} ${what} the time that it names: ${notAfter}, at ${time}`);
  }

  #judgeBusy(requests: readonly ServedRequest[]): void {
    // A request of a dead process may still be there, at the limit of its group, and keep its turn.
    if (this.#cap !== undefined && this.queue.length > 0) return;
    for (const request of requests) {
      if (request.verdict !== 'busy' || !this.#fits(request) || this.waiting().length > 0) continue;
      this.#problem('busy', `${request.id} was refused while permits were free`);
    }
  }

  /** Whether permits, its group and the meters allow it. */
  #fits(asked: Waiter | ServedRequest): boolean {
    const isFree = this.used + asked.permits <= this.limit;
    return isFree && this.#hasRoom(asked) && this.#meters.mayPay(asked);
  }

  /**
   * A free permit goes to the first request, in the very call, and a group at its limit blocks no
   * other. Where groups decide which request is first, every possible first must fit, whether
   * requests of dead processes are still there or not.
   */
  #judgeIdle(): void {
    if (!this.ordered) return;
    // A request that may or may not be dropped may be there and block.
    const isUnsure = (one: Waiter): boolean =>
      this.#dropped.has(one.id) || !this.#isSurelyAlive(one);
    if (this.queue.some((one) => this.isAlive(one) && isUnsure(one))) return;
    const waiting = this.waiting();
    const first = waiting.filter((one) => one === waiting.find((other) => isSameFlow(one, other)));
    const [heads = [], ...others] = [this.queue, waiting].map((among) =>
      first.filter((one) => !this.#isCapped(one, among)),
    );
    const [head] = heads;
    const mustServe = [heads, ...others].every(
      (some) => some.length > 0 && some.every((one) => this.#fits(one)),
    );
    if (head === undefined || !mustServe) return;
    const rule = this.#meters.areNone ? 'idle' : 'budget';
    this.#problem(
      heads.some((one) => this.#wereCapped.has(one)) ? 'cap' : rule,
      `${head.id} waits for ${head.permits} while ${this.used} of ${this.limit} are held`,
    );
  }
}
