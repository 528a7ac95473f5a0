import {
  clientOf,
  type HistoryEvent,
  type Report,
  type SemaphoreSettings,
  type ServedEvent,
  type ServerEvent,
} from '../history/events.js';
import { type LiveTicket, ModelledSemaphore, type TicketWatcher } from './modelled-semaphore.js';

/** How long a call may be on its way, in milliseconds. */
const ON_ITS_WAY = 14_000;

/** How long an answer or a push may be on its way to a process, in milliseconds. */
const NEWS = 2000;

/** The one server: the tickets and requests that it must hold, by its answers. */
export class ServerModel {
  readonly semaphores = new Map<string, ModelledSemaphore>();
  readonly #report: Report;
  readonly #watcher: TicketWatcher;
  readonly #settings = new Map<string, SemaphoreSettings>();
  /** The calls since the data began. */
  #log: ServedEvent[] = [];
  /** Its clock less true time, as of the last call. */
  #offset = 0;
  /** The highest token of each semaphore. */
  readonly #highest = new Map<string, number>();
  /**
   * Clients with an answer since the clock was last set forward, and when; undefined: it never was.
   */
  #informed: Map<string, number> | undefined;
  #steppedBack = false;
  #hasLostData = false;
  #backward = { at: -Infinity, by: 0 };
  /** Tokens begin at the server's clock: after a step back and a loss of data they may be lower. */
  tokensRepeat = false;

  constructor(report: Report, watcher: TicketWatcher) {
    this.#report = report;
    this.#watcher = watcher;
  }

  find(semaphore: string, id: string): LiveTicket | undefined {
    return this.semaphores.get(semaphore)?.tickets.get(id);
  }

  /** The server's clock at a moment of true time, nearly. */
  timeAt(now: number): number {
    return now + this.#offset;
  }

  /** How far its clock was set back lately: calls of before may act for that much longer. */
  backwardAt(now: number): number {
    return now < this.#backward.at + ON_ITS_WAY ? this.#backward.by : 0;
  }

  read(event: HistoryEvent): void {
    if (event.type === 'run') {
      for (const each of event.semaphores) this.#settings.set(each.name, each);
    } else if (event.type === 'served') {
      this.#offset = event.time - event.at;
      this.#log.push(event);
      this.#judgeTokens(event);
      this.#of(event.semaphore).apply(event, this.#report, this.#watcher);
      this.#doubtNews(event);
    } else if (event.type === 'server') this.#change(event);
  }

  #of(name: string): ModelledSemaphore {
    let semaphore = this.semaphores.get(name);
    if (semaphore === undefined) {
      semaphore = new ModelledSemaphore(this.#settings.get(name) ?? { name, limit: 1, ttl: 0 });
      semaphore.ordered = !this.tokensRepeat;
      this.semaphores.set(name, semaphore);
    }
    return semaphore;
  }

  /** Every new grant has a higher token than all before, over the whole life of the semaphore. */
  #judgeTokens({ requests = [], grants, adopted, semaphore, at }: ServedEvent): void {
    const known = this.semaphores.get(semaphore)?.tickets;
    const given = [...requests, ...grants, ...(adopted === undefined ? [] : [adopted])];
    const fresh = given.filter(
      ({ id, token }) => token !== undefined && known?.get(id)?.token !== token,
    );
    const highest = this.#highest.get(semaphore) ?? -Infinity;
    for (const { id, token = 0 } of fresh) {
      if (token > highest) continue;
      this.#report('tokens', at, `${id} got token ${token}; ${highest} was given before`);
    }
    this.#highest.set(semaphore, Math.max(highest, ...fresh.map(({ token = 0 }) => token)));
  }

  #change({ change, at, step = 0, upTo = 0 }: ServerEvent): void {
    if (change === 'stepped') {
      this.#offset += step;
      if (step > 0) this.#setForward();
      else this.#setBack(at, -step);
      return;
    }
    const before = this.#tickets();
    const doubted = [...this.semaphores.values()].filter(({ certain }) => !certain);
    this.#log = this.#log.slice(0, change === 'empty' ? 0 : upTo);
    this.semaphores.clear();
    this.#replay();
    if (change === 'restored') {
      for (const { name, doubtedUntil } of doubted) this.#of(name).doubtUntil(doubtedUntil);
    }
    this.#doubtAll();
    this.#markRestored();
    for (const ticket of this.#tickets()) this.#watcher.onTicketBack(ticket);
    for (const ticket of before) {
      const now = this.find(ticket.semaphore, ticket.id);
      if (now?.token !== ticket.token) this.#watcher.onTicketEnd(ticket, 'lost', at, at);
    }
    // Tokens begin at the server's clock, which may be behind: the promise leaves that open.
    this.#hasLostData = true;
    if (this.#steppedBack) this.#beginTokensAgain();
  }

  #replay(): void {
    let latest = -Infinity;
    for (const event of this.#log) {
      if (event.time < latest) this.#doubtFrom(latest);
      latest = event.time;
      this.#of(event.semaphore).apply(event, () => undefined);
    }
  }

  #doubtFrom(before: number): void {
    for (const semaphore of this.semaphores.values()) semaphore.doubt(before);
  }

  #beginTokensAgain(): void {
    this.#highest.clear();
    this.tokensRepeat = true;
    for (const semaphore of this.semaphores.values()) semaphore.ordered = false;
  }

  #tickets(): LiveTicket[] {
    return [...this.semaphores.values()].flatMap(({ tickets }) => [...tickets.values()]);
  }

  #setForward(): void {
    this.#doubtAll();
    this.#informed = new Map();
  }

  /** A process without news of a clock set forward takes a grant for younger than it is. */
  #doubtNews({ at, semaphore, requests = [], grants, unheard }: ServedEvent): void {
    const informed = this.#informed;
    if (informed === undefined) return;
    for (const { id } of grants) {
      const ticket = this.find(semaphore, id);
      const since = informed.get(clientOf(id)) ?? at;
      if (ticket !== undefined && at - since < NEWS) ticket.doubtful = true;
    }
    if (unheard === true) return;
    for (const { id } of requests) {
      if (!informed.has(clientOf(id))) informed.set(clientOf(id), at);
    }
  }

  #setBack(at: number, by: number): void {
    this.#steppedBack = true;
    this.#doubtFrom(this.timeAt(at) + by);
    this.#backward = { at, by: by + this.backwardAt(at) };
    if (this.#hasLostData) this.#beginTokensAgain();
  }

  #markRestored(): void {
    for (const { tickets, queue } of this.semaphores.values()) {
      for (const ticket of tickets.values()) ticket.restored = true;
      for (const waiter of queue) waiter.restored = true;
    }
  }

  #doubtAll(): void {
    for (const ticket of this.#tickets()) ticket.doubtful = true;
  }
}
