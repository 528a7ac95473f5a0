import type {
  FailEvent,
  HistoryEvent,
  InvokeEvent,
  OkEvent,
  Report,
  ServedEvent,
} from '../history/events.js';
import type { Certainty } from './certainty.js';
import type { Troubles } from './troubles.js';

interface Arrival {
  readonly at: number;
  /** How long its call was on its way, in milliseconds. */
  readonly took: number;
}

export interface OpenCall {
  readonly event: InvokeEvent;
  due: number;
  /** Undefined: not yet. */
  ended: number | undefined;
}

/** Milliseconds that the contract gives a call without a timeout. */
const CALL_LIMIT = 5000;

/** Milliseconds by which a call may be late: 50, and some for a few timers in a row. */
const SLACK = 60;

/** Milliseconds by which clocks may run apart since a process last heard of the server. */
const APART = 1000;

/** How long an answer may be on its way, in milliseconds. */
const ANSWER = 2000;

/** For how long arrivals are kept, in milliseconds: longer than any call that is judged by them. */
const KEPT = 20_000;

/** No call outlives its time, whatever server and network do. */
export class Calls {
  readonly #troubles: Troubles;
  readonly #report: Report;
  readonly #open = new Map<string, OpenCall>();
  readonly #ttls = new Map<string, number>();
  /**
   * By process and semaphore: since when the process has its object, and when it last heard of the
   * server through that.
   */
  readonly #opened = new Map<string, number>();
  readonly #heard = new Map<string, number>();
  /** By process: it knows the server's clock no better than its calls were on their way. */
  readonly #arrivals = new Map<string, Arrival[]>();
  /** Objects whose first setLimit had no time of the server to name. */
  readonly #timeless = new Set<string>();
  #stepped = false;
  #next = Infinity;
  readonly #slack: number;

  constructor(troubles: Troubles, { late }: Certainty, report: Report) {
    this.#troubles = troubles;
    this.#report = report;
    this.#slack = SLACK + late;
  }

  /** The calls that have not ended. */
  get open(): OpenCall[] {
    return [...this.#open.values()];
  }

  read(event: HistoryEvent): void {
    if (event.type === 'run') {
      for (const { name, ttl } of event.semaphores) this.#ttls.set(name, ttl);
    } else if (event.type === 'invoke') {
      const object = `${event.process} ${event.semaphores[0]}`;
      if (event.operation === 'set-limit' && !this.#heard.has(object)) this.#timeless.add(object);
      if (event.operation === 'close') {
        this.#opened.set(object, event.at);
        this.#heard.delete(object);
      }
      const rate = this.#troubles.rates.get(event.process) ?? 1;
      const due = event.at + this.#limitOf(event) / rate + this.#slack;
      this.#open.set(`${event.process} ${event.call}`, { event, due, ended: undefined });
      this.#next = Math.min(this.#next, due);
    } else if (event.type === 'server') {
      this.#stepped ||= event.change === 'stepped';
    } else if (event.type === 'served') {
      if (event.operation === 'setLimit' && event.late !== true) this.#judgeEffect(event);
      if (event.unheard !== true) this.#noteArrival(event);
    } else if (event.type === 'ok' || event.type === 'fail' || event.type === 'unknown') {
      if (event.type === 'unknown') this.#judgeFailure(event);
      this.#settle(event);
    }
  }

  passTo(now: number): void {
    if (now <= this.#next) return;
    this.#next = Infinity;
    for (const [key, call] of this.#open) {
      const { process, operation } = call.event;
      const due = Math.max(call.due, this.#troubles.stalledUntil(process) + this.#slack);
      if (this.#troubles.isDead(process)) this.#open.delete(key);
      else if (now > due) {
        this.#open.delete(key);
        const late = Math.round(now - call.due);
        this.#report('deadline', now, `${operation} ${key} is ${late} ms beyond its time`);
      } else this.#next = Math.min(this.#next, due);
    }
  }

  /** Whether a process has a call under way that may hold or ask for permits of a semaphore. */
  isAsking(process: string, semaphore: string): boolean {
    for (const { event } of this.#open.values()) {
      if (event.process !== process || !event.semaphores.includes(semaphore)) continue;
      if (['acquire', 'try', 'all', 'keyed', 'adopt', 'release'].includes(event.operation)) {
        return true;
      }
    }
    return false;
  }

  /** A fault of other processes, or of other semaphores, must not fail a call. */
  #judgeFailure({ process, call, at, error }: FailEvent): void {
    const event = this.#open.get(`${process} ${call}`)?.event;
    // The limit was lowered, and is below the permits of the request.
    if (event === undefined || error.startsWith('RangeError')) return;
    if (this.#troubles.struckUntil(process, ...event.semaphores) >= event.at) return;
    this.#report('failure', at, `${event.operation} ${process} ${call} failed: ${error}`);
  }

  #settle({ process, call, at, type }: OkEvent | FailEvent): void {
    const key = `${process} ${call}`;
    const open = this.#open.get(key);
    if (open !== undefined) open.ended = at;
    this.#open.delete(key);
    const event = open?.event;
    if (type !== 'ok' || event === undefined) return;
    for (const name of event.semaphores) {
      const object = `${process} ${name}`;
      if (this.#asksThrough(event, object)) this.#heard.set(object, at);
    }
  }

  /** A call that failed must not take effect later: another process may have called since. */
  #judgeEffect({ client, semaphore, at, notAfter, sent = at }: ServedEvent): void {
    const object = `${client} ${semaphore}`;
    // The first call of an object knows no clock of the server, and no process knows of a step.
    const timeless = notAfter === undefined && this.#timeless.has(object);
    // A step of the wall clock looks like a machine that slept.
    const stepped = this.#troubles.steppedAt(client) > (this.#heard.get(object) ?? 0);
    // A killed process has heard nothing.
    if (this.#stepped || timeless || stepped || this.#troubles.isDead(client)) return;
    const limit = Math.min(this.#ttls.get(semaphore) ?? CALL_LIMIT, CALL_LIMIT);
    const late = at - sent - 1.01 * limit - this.#longestWay(client, sent) - APART;
    if (late <= 0) return;
    this.#report('late-effect', at, `a setLimit of ${client} acts ${Math.round(late)} ms too late`);
  }

  #noteArrival({ client, at, sent = at }: ServedEvent): void {
    const arrivals = this.#arrivals.get(client) ?? [];
    arrivals.push({ at, took: at - sent });
    const kept = arrivals.findLastIndex((one) => one.at < at - KEPT);
    this.#arrivals.set(client, kept > 0 ? arrivals.slice(kept) : arrivals);
  }

  /** The longest way of a call whose answer may be the last that a process had since then. */
  #longestWay(client: string, since: number): number {
    const arrivals = this.#arrivals.get(client) ?? [];
    const last = arrivals.findLastIndex(({ at }) => at < since - ANSWER);
    return Math.max(0, ...arrivals.slice(Math.max(last, 0)).map(({ took }) => took));
  }

  /** Whether a call has certainly asked the server, through the object that is open now. */
  #asksThrough({ operation, at }: InvokeEvent, object: string): boolean {
    const asks = ['acquire', 'try', 'all', 'keyed', 'adopt', 'revoke'].includes(operation);
    return asks && at >= (this.#opened.get(object) ?? 0);
  }

  #limitOf({ operation, timeout, semaphores }: InvokeEvent): number {
    const ttls = semaphores.map((name) => this.#ttls.get(name) ?? CALL_LIMIT);
    const ttl = Math.max(...ttls, 0);
    const call = Math.min(semaphores.length === 0 ? CALL_LIMIT : ttl, CALL_LIMIT);
    switch (operation) {
      case 'acquire':
      case 'all':
        return timeout ?? Infinity;
      case 'keyed':
        return timeout ?? 2 * semaphores.length * call;
      case 'extend':
        return ttl;
      default:
        return call;
    }
  }
}
