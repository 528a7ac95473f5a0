import type {
  HeldEvent,
  HistoryEvent,
  InvokeEvent,
  LostEvent,
  OkEvent,
  Report,
  ServedEvent,
  Ticket,
} from '../history/events.js';
import type { EndCause, LiveTicket, TicketWatcher } from './modelled-semaphore.js';
import type { ServerModel } from './server-model.js';
import type { Certainty } from './certainty.js';
import type { Troubles } from './troubles.js';

/** What a holder believes of its ticket. */
export interface Hold {
  readonly process: string;
  readonly semaphore: string;
  readonly id: string;
  readonly token: number;
  readonly slots: readonly number[];
  /** Until when its holder is certain of the ticket, unless `over`. */
  until: number;
  /** By when the holder must know of the end: a step of a wall clock sets off no timer. */
  noticeBy: number;
  /** When the holder stopped believing: by release, or by notice of a loss. */
  over: number | undefined;
  /** The reason of its loss. */
  lost: string | undefined;
  /**
   * An event that the contract names took the ticket, or may have taken it: from then on the hold
   * counts for nothing.
   */
  broken: { readonly cause: EndCause | 'doubted'; readonly at: number } | undefined;
  /** When its holder got it, and when a release was confirmed that found it. */
  readonly granted: number;
  released: number | undefined;
}

/** Milliseconds that a timer and the rates of two clocks may make. */
const SLACK = 10;

/** Milliseconds until the watch reads a handle after its end. */
const READ = 5;

/** The beliefs of holders must be true. */
export class Beliefs implements TicketWatcher {
  readonly #troubles: Troubles;
  readonly #report: Report;
  readonly #late: number;
  readonly #slack: number;
  readonly holds = new Map<string, Hold>();
  /** The latest hold of each id. */
  readonly #byId = new Map<string, Hold>();
  readonly #releases = new Map<string, Pick<InvokeEvent, 'at' | 'ticket'>>();
  readonly #permits = new Map<string, number>();
  readonly #limits = new Map<string, number>();
  /** Holds that have not ended. */
  readonly #open = new Set<Hold>();
  readonly #ended = new Map<string, { readonly cause: EndCause; readonly at: number }>();
  readonly #lastOnSlot = new Map<string, Hold>();
  /** When each ticket was released by its holder. */
  readonly #releasedAt = new Map<string, number>();
  readonly #ttls = new Map<string, number>();
  #next = Infinity;

  constructor(troubles: Troubles, { late }: Certainty, report: Report) {
    this.#troubles = troubles;
    this.#report = report;
    this.#late = late;
    this.#slack = SLACK + late;
  }

  /** `isUnsure`: a ticket that comes now may have been granted before a loss of data. */
  read(event: HistoryEvent, server: ServerModel, isUnsure: boolean): void {
    switch (event.type) {
      case 'run':
        for (const { name, ttl } of event.semaphores) this.#ttls.set(name, ttl);
        for (const { name, limit } of event.semaphores) this.#limits.set(name, limit);
        break;
      case 'ok':
        for (const ticket of event.tickets ?? []) {
          const hold = this.#begin(event, ticket, server, isUnsure);
          this.#judgeExpiry(hold, event.at, server);
        }
        this.#confirm(event);
        break;
      case 'held':
        this.#held(event, server);
        break;
      case 'lost':
        this.#lost(event, server);
        break;
      case 'invoke':
        this.#ask(event);
        break;
      case 'server':
        if (server.tokensRepeat) this.#lastOnSlot.clear();
        break;
      case 'served':
        if (event.client.endsWith('+keeper')) this.#judgeRenewal(event);
        break;
      case 'fault':
        if (event.kind === 'kill-process' && event.phase === 'begin')
          this.#bury(event.targets ?? []);
        break;
      default:
    }
  }

  /** A ticket is no longer on the server. */
  onTicketEnd({ id, token }: LiveTicket, cause: EndCause, at: number, now: number): void {
    const key = `${id} ${token}`;
    const end = { cause, at };
    this.#ended.set(key, end);
    const hold = this.holds.get(key);
    if (hold === undefined) return;
    if (cause === 'expired' || cause === 'released') this.#judgeEnd(hold, end, now);
    else hold.broken ??= end;
  }

  onTicketBack({ id, token }: LiveTicket): void {
    const key = `${id} ${token}`;
    this.#ended.delete(key);
    const hold = this.holds.get(key);
    if (hold !== undefined) hold.broken = undefined;
  }

  /** A fault has taken all tickets, or may have taken them. */
  onLoss(at: number, isCertain: boolean): void {
    const broken = { cause: isCertain ? 'lost' : 'doubted', at } as const;
    for (const hold of this.#open) {
      // The holder got it during the fault: it may have been granted after the loss.
      const isLater = isCertain && hold.broken?.at === hold.granted;
      if (hold.broken?.cause !== 'lost' && !isLater) hold.broken = broken;
    }
  }

  /** Tokens may be lower from now on. */
  onTokensBegin(): void {
    this.#lastOnSlot.clear();
  }

  passTo(now: number): void {
    if (now <= this.#next) return;
    this.#next = Infinity;
    for (const hold of this.#open) {
      const stalled = this.#troubles.stalledUntil(hold.process);
      const due = Math.max(hold.noticeBy, stalled) + this.#slack + READ;
      if (now > due) {
        this.#open.delete(hold);
        const late = Math.round(now - hold.noticeBy);
        const message = `${hold.id} ended ${late} ms ago and its holder was not notified`;
        this.#report('lost-late', now, message);
      } else this.#next = Math.min(this.#next, due);
    }
  }

  /** What the holder of that ticket believes. */
  find(id: string, token: number): Hold | undefined {
    return this.holds.get(`${id} ${token}`);
  }

  last(id: string): Hold | undefined {
    return this.#byId.get(id);
  }

  isBelieved({ over, until }: Hold, at: number): boolean {
    return over === undefined && until > at;
  }

  /** No holder may be certain of a ticket for longer than the server keeps it. */
  #judgeExpiry(
    { id, token, semaphore, until, broken }: Hold,
    at: number,
    server: ServerModel,
  ): void {
    const ticket = server.find(semaphore, id);
    if (ticket?.token !== token || ticket.doubtful || broken !== undefined) return;
    const left = ticket.expiresAt - server.timeAt(at);
    const more = until - at - left * 1.005 - 2;
    if (more <= 0) return;
    const message = `${id} is believed in ${Math.round(more)} ms longer than the server keeps it`;
    this.#report('certainty', at, message);
  }

  #begin(
    { process, at, call }: OkEvent,
    ticket: Ticket,
    server: ServerModel,
    isUnsure: boolean,
  ): Hold {
    const { semaphore, id, token, slots, until } = ticket;
    const key = `${id} ${token}`;
    if (this.holds.has(key)) this.#report('twice', at, `${id} was handed out twice`);
    const broken = isUnsure ? ({ cause: 'doubted', at } as const) : undefined;
    const open = { over: undefined, lost: undefined, released: undefined, broken };
    const certainty = { until, noticeBy: until, granted: at };
    const hold: Hold = { process, semaphore, id, token, slots, ...certainty, ...open };
    this.holds.set(key, hold);
    this.#byId.set(id, hold);
    this.#judgeShape(hold, this.#permits.get(`${process} ${call}`));
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(key);
    if (end !== undefined && !['expired', 'released'].includes(end.cause)) hold.broken = end;
    else if (end !== undefined) this.#judgeEnd(hold, end, at);
    // A lease may be over before its holder hears of it, and then counts for nothing.
    if (until > at && hold.broken === undefined) this.#judgeSlots(hold, at, server);
    if (this.#troubles.isDead(process)) hold.over = until;
    else this.#open.add(hold);
    this.#next = Math.min(this.#next, until + this.#slack + READ);
    return hold;
  }

  /** As many different slots as permits were asked for, each below the limit. */
  #judgeShape({ id, semaphore, slots, granted }: Hold, permits: number = slots.length): void {
    const limit = this.#limits.get(semaphore) ?? Infinity;
    const isRight = slots.every((slot) => slot >= 0 && slot < limit);
    if (isRight && new Set(slots).size === permits && slots.length === permits) return;
    const message = `${id} asked for ${permits} of ${limit} permits and got slots ${slots.join(', ')}`;
    this.#report('slots', granted, message);
  }

  #judgeSlots(hold: Hold, at: number, server: ServerModel): void {
    const certain = server.semaphores.get(hold.semaphore)?.certain !== false;
    for (const slot of hold.slots) {
      const key = `${hold.semaphore} ${slot}`;
      const other = this.#lastOnSlot.get(key);
      this.#lastOnSlot.set(key, hold);
      if (other === undefined || other.broken !== undefined || !certain) continue;
      if (this.isBelieved(other, at)) {
        const message = `${hold.id} and ${other.id} hold slot ${slot} of ${hold.semaphore}`;
        this.#report('exclusion', at, message);
      }
      if (other.token >= hold.token && !this.#isDoubtful(other)) {
        const message = `${hold.id} got token ${hold.token} on slot ${slot} after ${other.token}`;
        this.#report('fencing', at, message);
      }
    }
  }

  /** Its ticket was lost with the server's data, and tokens may have started over. */
  #isDoubtful({ id, token }: Hold): boolean {
    const end = this.#ended.get(`${id} ${token}`);
    return end !== undefined && end.cause === 'lost';
  }

  /** A ticket must not end while its holder is certain of it. */
  #judgeEnd(hold: Hold, { cause, at: ended }: { cause: EndCause; at: number }, at: number): void {
    // The two times are of clocks that run at different rates.
    const margin = cause === 'expired' ? 1 + 0.006 * (at - ended) : 0;
    if (hold.over !== undefined && hold.over <= ended) return;
    if (hold.broken !== undefined || hold.until <= ended + margin) return;
    const more = Math.round(hold.until - ended);
    const message = `${hold.id} was ${cause} ${more} ms before its holder's certainty ends`;
    this.#report('certainty', at, message);
  }

  #held({ ticket, token, until, at, process }: HeldEvent, server: ServerModel): void {
    const hold = this.holds.get(`${ticket} ${token}`);
    if (hold === undefined) return;
    const before = hold.until;
    // Between the end and the timer that finds it, an extension may still be confirmed.
    const known = Math.max(before, this.#late > 0 ? this.#troubles.stalledUntil(process) : before);
    if (known < at - this.#slack - READ && until > at) {
      this.#report('held-again', at, `${ticket} was held again after it was not`);
    }
    // A handle that is not held does not say since when.
    hold.until = until > at ? until : Math.min(before, until);
    const stepped = this.#troubles.steppedAt(process) > -Infinity;
    hold.noticeBy = stepped ? Math.max(hold.noticeBy, until) : until;
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(`${ticket} ${token}`);
    if (end !== undefined && until > before) this.#judgeEnd(hold, end, at);
    if (until > before) this.#judgeExpiry(hold, at, server);
    this.#next = Math.min(this.#next, until + this.#slack + READ);
  }

  /** A reply is older than the moment of its reading: no certainty is longer than a ttl. */
  #judgeCertainty(hold: Hold, at: number, server: ServerModel): void {
    const { id, token, until, semaphore, broken } = hold;
    const ttl = this.#ttls.get(semaphore) ?? Infinity;
    const most = ttl * 1.01;
    if (until - at > most) {
      const message = `${id} is certain for ${Math.round(until - at)} ms, with a ttl of ${ttl}`;
      this.#report('ttl', at, message);
    }
    // Where tokens have begun again, its request may have got the same token: the loss cannot show.
    const same = server.tokensRepeat && server.find(semaphore, id)?.token === token;
    const isExtended = broken !== undefined && until > broken.at + most + this.#late;
    if (isExtended && broken.cause === 'doubted') this.#restore(hold, at);
    else if (isExtended && !same) {
      const message = `${id} is believed in for more than a ttl after it was ${broken.cause}`;
      this.#report('lost-silently', at, message);
    }
  }

  /** Its ticket has outlived the fault: from then on no other holder may have its slots. */
  #restore(hold: Hold, at: number): void {
    hold.broken = undefined;
    for (const slot of hold.slots) {
      const other = this.#lastOnSlot.get(`${hold.semaphore} ${slot}`);
      if (other === undefined || other === hold || other.broken !== undefined) continue;
      if (!this.isBelieved(other, at)) continue;
      this.#report('exclusion', at, `${hold.id} and ${other.id} hold slot ${slot} after a fault`);
    }
  }

  #lost(event: LostEvent, server: ServerModel): void {
    const { ticket, token, reason, at, process } = event;
    const hold = this.holds.get(`${ticket} ${token}`);
    if (hold === undefined) return;
    if (hold.lost !== undefined) this.#report('lost-twice', at, `${ticket} was lost twice`);
    // A release just after the end may itself say that the ticket is lost.
    const over = hold.over ?? -Infinity;
    const atOnce = at - over <= this.#late && hold.until <= at + this.#slack;
    if (hold.over !== undefined && hold.lost === undefined && !atOnce) {
      this.#report('lost-after-release', at, `${ticket} was lost after its release`);
    }
    if (reason === 'missing' && server.find(hold.semaphore, ticket)?.token === token) {
      this.#report('false-loss', at, `${ticket} was lost as missing, and is there`);
    }
    const latest = Math.max(hold.noticeBy, this.#troubles.stalledUntil(process)) + this.#slack;
    if (at > latest) {
      this.#report('lost-late', at, `${ticket} was lost ${Math.round(at - latest)} ms too late`);
    }
    const ttl = this.#ttls.get(hold.semaphore) ?? 0;
    const stepped = this.#troubles.steppedAt(process) >= at - 1.02 * ttl;
    if (reason === 'expired' && !stepped && hold.until > at + this.#slack) {
      const early = Math.round(hold.until - at);
      this.#report('lost-early', at, `${ticket} was lost ${early} ms before its lease ended`);
    }
    const struck = this.#troubles.struckUntil(process, hold.semaphore) >= at - 1.02 * ttl - 1000;
    const end = this.#ended.get(`${ticket} ${token}`);
    const natural = end === undefined || end.cause === 'expired' || end.cause === 'released';
    if (reason !== 'closed' && reason !== 'revoked' && !struck && natural) {
      this.#report('cause', at, `${ticket} was lost (${reason}) while nothing was wrong`);
    }
    // A failed extension is tried again well inside the lease. A grant may be pushed to a holder
    // whose last reply came late in a fault: its certainty may end before any call could return.
    const calm = Math.max(this.#troubles.reachableFrom(process, hold.semaphore), hold.granted);
    const isLong = at > calm + ttl / 6 + 300;
    if (reason === 'expired' && !stepped && struck && natural && isLong) {
      this.#report('no-retry', at, `${ticket} was lost though nothing was wrong for long enough`);
    }
    hold.lost = reason;
    hold.over ??= at;
    this.#open.delete(hold);
  }

  #ask({ process, call, operation, permits, semaphores, ticket = '', at }: InvokeEvent): void {
    if (operation === 'acquire' || operation === 'try') {
      if (permits !== undefined) this.#permits.set(`${process} ${call}`, permits);
    } else if (operation === 'set-limit') {
      const [name = ''] = semaphores;
      this.#limits.set(name, Math.max(this.#limits.get(name) ?? 0, permits ?? 0));
    } else if (operation === 'release') {
      this.#releases.set(`${process} ${call}`, { ticket, at });
      this.#release(new Set(ticket.split(' ')), at);
    }
  }

  /** A release that found a ticket shows that the ticket was there. */
  #confirm({ process, call, at, result }: OkEvent): void {
    const { ticket = '', at: asked } = this.#releases.get(`${process} ${call}`) ?? { at };
    const hold = this.#byId.get(ticket);
    if (hold === undefined || result !== true) return;
    hold.released = at;
    if (hold.broken?.cause !== 'lost' || this.#late === 0 || asked <= hold.broken.at) return;
    this.#report('lost-silently', at, `${ticket} was released as held after it was lost`);
  }

  #release(released: ReadonlySet<string>, at: number): void {
    for (const hold of this.#open) {
      if (!released.has(hold.id)) continue;
      hold.over ??= at;
      this.#open.delete(hold);
      this.#releasedAt.set(hold.id, at);
    }
  }

  /** A keeper sends no renewal of a ticket that its holder has released. */
  #judgeRenewal({ at, tickets = [], sent = at }: ServedEvent): void {
    for (const { id } of tickets) {
      const late = sent - (this.#releasedAt.get(id) ?? Infinity);
      if (late <= 0) continue;
      const message = `a keeper renews ${id} ${Math.round(late)} ms after its release`;
      this.#report('renewed-late', at, message);
    }
  }

  #bury(processes: readonly string[]): void {
    for (const hold of this.#open) {
      if (!processes.includes(hold.process)) continue;
      hold.over ??= hold.until;
      this.#open.delete(hold);
    }
  }
}
