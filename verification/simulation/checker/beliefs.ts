import type {
  HeldEvent,
  HistoryEvent,
  LostEvent,
  ServedEvent,
  ServerEvent,
  Ticket,
} from '../../history/events.js';
import type { EndCause, LiveTicket, ServerModel, TicketWatcher } from './server-model.js';
import type { Troubles } from './troubles.js';
import type { Report } from './report.js';

/** One ticket in its holder's hands. */
export interface Hold {
  readonly process: string;
  readonly semaphore: string;
  readonly id: string;
  readonly token: number;
  readonly slots: readonly number[];
  /** Until when its holder is certain of it, unless `over`. */
  until: number;
  /**
   * When it must have been notified of the end at the latest: a wall clock that is stepped sets off
   * no timer.
   */
  noticeBy: number;
  /** When it stopped believing: by release, or by notice of a loss. */
  over: number | undefined;
  /** Why it was lost, if it was. */
  lost: string | undefined;
  /**
   * It was taken from its holder by what the contract names; from then on it counts for nothing.
   */
  broken: { readonly cause: EndCause; readonly at: number } | undefined;
}

/** Milliseconds that a timer and the rates of two clocks may make. */
const SLACK = 10;

/** Until somebody has looked at a handle after its end. */
const LOOK = 5;

/** What holders believe must be so. */
export class Beliefs implements TicketWatcher {
  readonly #troubles: Troubles;
  readonly #report: Report;
  readonly holds = new Map<string, Hold>();
  /** Those of whom more can be heard. */
  readonly #open = new Set<Hold>();
  readonly #ended = new Map<string, { readonly cause: EndCause; readonly at: number }>();
  readonly #lastOnSlot = new Map<string, Hold>();
  /** When each ticket was released by its holder. */
  readonly #releasedAt = new Map<string, number>();
  readonly #ttls = new Map<string, number>();
  #next = Infinity;
  #steppedBack = false;
  #hasLostData = false;

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
        this.#onServer(event);
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
      const due = Math.max(hold.noticeBy, stalled) + SLACK + LOOK;
      if (now > due) {
        this.#open.delete(hold);
        const late = Math.round(now - hold.noticeBy);
        this.#report(
          'lost-late',
          now,
          `${hold.id} ended ${late} ms ago and its holder was not notified`,
        );
      } else this.#next = Math.min(this.#next, due);
    }
  }

  /** Whether anybody holds that ticket, and when they stopped. */
  find(id: string, token: number): Hold | undefined {
    return this.holds.get(`${id} ${token}`);
  }

  isBelieved({ over, until }: Hold, at: number): boolean {
    return over === undefined && until > at;
  }

  /** Nobody may be certain of a ticket for longer than the server keeps it, as things stand now. */
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
    this.#report(
      'certainty',
      at,
      `${id} is believed in ${Math.round(more)} ms longer than the server keeps it`,
    );
  }

  #begin(process: string, at: number, ticket: Ticket, server: ServerModel): Hold {
    const { semaphore, id, token, slots, until } = ticket;
    const key = `${id} ${token}`;
    if (this.holds.has(key)) this.#report('twice', at, `${id} was handed out twice`);
    const hold: Hold = {
      process,
      semaphore,
      id,
      token,
      slots,
      until,
      noticeBy: until,
      over: undefined,
      lost: undefined,
      broken: undefined,
    };
    this.holds.set(key, hold);
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(key);
    if (end !== undefined && !['expired', 'released'].includes(end.cause)) hold.broken = end;
    else if (end !== undefined) this.#judgeEnd(hold, end, at);
    // A lease may be over before its holder hears of it: nobody has believed in it.
    if (until > at && hold.broken === undefined) this.#judgeSlots(hold, at, server);
    this.#open.add(hold);
    this.#next = Math.min(this.#next, until + SLACK + LOOK);
    return hold;
  }

  #judgeSlots(hold: Hold, at: number, server: ServerModel): void {
    const certain = server.semaphores.get(hold.semaphore)?.certain !== false;
    for (const slot of hold.slots) {
      const place = `${hold.semaphore} ${slot}`;
      const other = this.#lastOnSlot.get(place);
      this.#lastOnSlot.set(place, hold);
      if (other === undefined || other.broken !== undefined || !certain) continue;
      if (this.isBelieved(other, at)) {
        this.#report(
          'exclusion',
          at,
          `${hold.id} and ${other.id} hold slot ${slot} of ${hold.semaphore}`,
        );
      }
      if (other.token >= hold.token && !this.#isDoubtful(other)) {
        this.#report(
          'fencing',
          at,
          `${hold.id} got token ${hold.token} on slot ${slot} after ${other.token}`,
        );
      }
    }
  }

  /** Its ticket was lost with the server's data, and tokens may have started over. */
  #isDoubtful({ id, token }: Hold): boolean {
    const end = this.#ended.get(`${id} ${token}`);
    return end !== undefined && end.cause === 'lost';
  }

  /** A ticket ended of which its holder is certain. */
  #judgeEnd(hold: Hold, { cause, at: ended }: { cause: EndCause; at: number }, at: number): void {
    // Read off clocks that run at different rates.
    const margin = cause === 'expired' ? 1 + 0.006 * (at - ended) : 0;
    if (hold.over !== undefined && hold.over <= ended) return;
    if (hold.broken !== undefined || hold.until <= ended + margin) return;
    const more = Math.round(hold.until - ended);
    this.#report(
      'certainty',
      at,
      `${hold.id} was ${cause} ${more} ms before its holder's certainty ends`,
    );
  }

  #held({ ticket, token, until, at, process }: HeldEvent, server: ServerModel): void {
    const hold = this.holds.get(`${ticket} ${token}`);
    if (hold === undefined) return;
    const before = hold.until;
    // Between its end and the timer that finds it an extension may still be confirmed: nobody has
    // looked.
    if (before < at - SLACK - LOOK && until > at) {
      this.#report('held-again', at, `${ticket} was held again after it was not`);
    }
    hold.until = until;
    const stepped = this.#troubles.steppedAt(process) > -Infinity;
    hold.noticeBy = stepped ? Math.max(hold.noticeBy, until) : until;
    this.#judgeCertainty(hold, at, server);
    const end = this.#ended.get(`${ticket} ${token}`);
    if (end !== undefined && until > before) this.#judgeEnd(hold, end, at);
    if (until > before) this.#judgeExpiry(hold, at, server);
    this.#next = Math.min(this.#next, until + SLACK + LOOK);
  }

  /**
   * Whatever a holder has heard, it was sent before: nobody is certain for longer than a ttl from
   * now.
   */
  #judgeCertainty(
    { id, token, until, semaphore, broken }: Hold,
    at: number,
    server: ServerModel,
  ): void {
    const ttl = this.#ttls.get(semaphore) ?? Infinity;
    const most = ttl * 1.01;
    if (until - at > most) {
      this.#report(
        'ttl',
        at,
        `${id} is certain for ${Math.round(until - at)} ms, with a ttl of ${ttl}`,
      );
    }
    // Where tokens have begun again, its request may have got the very token once more: nobody can
    // see that it was lost.
    const same = this.#tokensRepeat && server.find(semaphore, id)?.token === token;
    if (broken !== undefined && until > broken.at + most && !same) {
      this.#report(
        'lost-silently',
        at,
        `${id} is believed in for more than a ttl after it was ${broken.cause}`,
      );
    }
  }

  #lost(event: LostEvent, server: ServerModel): void {
    const { ticket, token, reason, at, process } = event;
    const hold = this.holds.get(`${ticket} ${token}`);
    if (hold === undefined) return;
    if (hold.lost !== undefined) this.#report('lost-twice', at, `${ticket} was lost twice`);
    // A holder that gives back what has just run out may hear so from that call.
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
    // Whatever failed, it is tried again well inside the lease.
    const reachable = this.#troubles.reachableFrom(process, hold.semaphore) + ttl / 6 + 300;
    if (reason === 'expired' && !stepped && struck && natural && at > reachable) {
      this.#report('no-retry', at, `${ticket} was lost though nothing was wrong for long enough`);
    }
    hold.lost = reason;
    hold.over ??= at;
    this.#open.delete(hold);
  }

  /**
   * Tokens begin at the server's clock: where that is behind, and the data are lost, they may be
   * lower.
   */
  #onServer({ change, step = 0 }: ServerEvent): void {
    if (change === 'stepped') this.#steppedBack ||= step < 0;
    else this.#hasLostData = true;
    if (this.#tokensRepeat) this.#lastOnSlot.clear();
  }

  get #tokensRepeat(): boolean {
    return this.#steppedBack && this.#hasLostData;
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

  /** A keeper sends no renewal of what its holder has released. */
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
