import type {
  HeldEvent,
  HistoryEvent,
  LostEvent,
  Report,
  ServedEvent,
  Ticket,
} from '../../history/events.js';
import type { EndCause, LiveTicket, TicketWatcher } from './modelled-semaphore.js';
import type { ServerModel } from './server-model.js';
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
  /** An event that the contract names took the ticket: from then on the hold counts for nothing. */
  broken: { readonly cause: EndCause; readonly at: number } | undefined;
}

/** Milliseconds that a timer and the rates of two clocks may make. */
const SLACK = 10;

/** Milliseconds until the watch reads a handle after its end. */
const READ = 5;

/** The beliefs of holders must be true. */
export class Beliefs implements TicketWatcher {
  readonly #troubles: Troubles;
  readonly #report: Report;
  readonly holds = new Map<string, Hold>();
  /** Holds that have not ended. */
  readonly #open = new Set<Hold>();
  readonly #ended = new Map<string, { readonly cause: EndCause; readonly at: number }>();
  readonly #lastOnSlot = new Map<string, Hold>();
  /** When each ticket was released by its holder. */
  readonly #releasedAt = new Map<string, number>();
  readonly #ttls = new Map<string, number>();
  #next = Infinity;

  constructor(troubles: Troubles, report: Report) {
    this.#troubles = troubles;
    this.#report = report;
  }

  read(event: HistoryEvent, server: ServerModel): void {
    switch (event.type) {
      case 'run':
        for (const { name, ttl } of event.semaphores) this.#ttls.set(name, ttl);
        break;
      case 'ok':
        for (const ticket of event.tickets ?? []) {
          const hold = this.#begin(event.process, event.at, ticket, server);
          this.#judgeExpiry(hold, event.at, server);
        }
        break;
      case 'held':
        this.#held(event, server);
        break;
      case 'lost':
        this.#lost(event, server);
        break;
      case 'invoke':
        if (event.operation === 'release') this.#release(event.ticket ?? '', event.at);
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

  passTo(now: number): void {
    if (now <= this.#next) return;
    this.#next = Infinity;
    for (const hold of this.#open) {
      const stalled = this.#troubles.stalledUntil(hold.process);
      const due = Math.max(hold.noticeBy, stalled) + SLACK + READ;
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

  #begin(process: string, at: number, ticket: Ticket, server: ServerModel): Hold {
    const { semaphore, id, token, slots, until } = ticket;
    const key = `${id} ${token}`;
    if (this.holds.has(key)) this.#report('twice', at, `${id} was handed out twice`);
    const open = { over: undefined, lost: undefined, broken: undefined };
    const hold: Hold = { process, semaphore, id, token, slots, until, noticeBy: until, ...open };
    this.holds.set(key, hold);
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(key);
    if (end !== undefined && !['expired', 'released'].includes(end.cause)) hold.broken = end;
    else if (end !== undefined) this.#judgeEnd(hold, end, at);
    // A lease may be over before its holder hears of it, and then counts for nothing.
    if (until > at && hold.broken === undefined) this.#judgeSlots(hold, at, server);
    this.#open.add(hold);
    this.#next = Math.min(this.#next, until + SLACK + READ);
    return hold;
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
    if (before < at - SLACK - READ && until > at) {
      this.#report('held-again', at, `${ticket} was held again after it was not`);
    }
    hold.until = until;
    const stepped = this.#troubles.steppedAt(process) > -Infinity;
    hold.noticeBy = stepped ? Math.max(hold.noticeBy, until) : until;
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(`${ticket} ${token}`);
    if (end !== undefined && until > before) this.#judgeEnd(hold, end, at);
    if (until > before) this.#judgeExpiry(hold, at, server);
    this.#next = Math.min(this.#next, until + SLACK + READ);
  }

  /** A reply is older than the moment of its reading: no certainty is longer than a ttl. */
  #judgeCertainty(
    { id, token, until, semaphore, broken }: Hold,
    at: number,
    server: ServerModel,
  ): void {
    const ttl = this.#ttls.get(semaphore) ?? Infinity;
    const most = ttl * 1.01;
    if (until - at > most) {
      const message = `${id} is certain for ${Math.round(until - at)} ms, with a ttl of ${ttl}`;
      this.#report('ttl', at, message);
    }
    // Where tokens have begun again, its request may have got the same token: the loss cannot show.
    const same = server.tokensRepeat && server.find(semaphore, id)?.token === token;
    if (broken !== undefined && until > broken.at + most && !same) {
      const message = `${id} is believed in for more than a ttl after it was ${broken.cause}`;
      this.#report('lost-silently', at, message);
    }
  }

  #lost(event: LostEvent, server: ServerModel): void {
    const { ticket, token, reason, at, process } = event;
    const hold = this.holds.get(`${ticket} ${token}`);
    if (hold === undefined) return;
    if (hold.lost !== undefined) this.#report('lost-twice', at, `${ticket} was lost twice`);
    // A release just after the end may itself say that the ticket is lost.
    const atOnce = hold.over === at && hold.until <= at + SLACK;
    if (hold.over !== undefined && hold.lost === undefined && !atOnce) {
      this.#report('lost-after-release', at, `${ticket} was lost after its release`);
    }
    if (reason === 'missing' && server.find(hold.semaphore, ticket)?.token === token) {
      this.#report('false-loss', at, `${ticket} was lost as missing, and is there`);
    }
    const latest = Math.max(hold.noticeBy, this.#troubles.stalledUntil(process)) + SLACK;
    if (at > latest) {
      this.#report('lost-late', at, `${ticket} was lost ${Math.round(at - latest)} ms too late`);
    }
    const ttl = this.#ttls.get(hold.semaphore) ?? 0;
    const stepped = this.#troubles.steppedAt(process) >= at - 1.02 * ttl;
    if (reason === 'expired' && !stepped && hold.until > at + SLACK) {
      const early = Math.round(hold.until - at);
      this.#report('lost-early', at, `${ticket} was lost ${early} ms before its lease ended`);
    }
    const struck = this.#troubles.struckUntil(process, hold.semaphore) >= at - 1.02 * ttl - 1000;
    const end = this.#ended.get(`${ticket} ${token}`);
    const natural = end === undefined || end.cause === 'expired' || end.cause === 'released';
    if (reason !== 'closed' && reason !== 'revoked' && !struck && natural) {
      this.#report('cause', at, `${ticket} was lost (${reason}) while nothing was wrong`);
    }
    // A failed extension is tried again well inside the lease.
    const reachable = this.#troubles.reachableFrom(process, hold.semaphore) + ttl / 6 + 300;
    if (reason === 'expired' && !stepped && struck && natural && at > reachable) {
      this.#report('no-retry', at, `${ticket} was lost though nothing was wrong for long enough`);
    }
    hold.lost = reason;
    hold.over ??= at;
    this.#open.delete(hold);
  }

  #release(ids: string, at: number): void {
    const released = new Set(ids.split(' '));
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
