import type { HistoryEvent, InvokeEvent } from '../history.js';
import type { Troubles } from './troubles.js';
import type { Report } from './violation.js';

interface OpenCall {
  readonly event: InvokeEvent;
  due: number;
}

/** The contract's own limit for calls that have none of their caller's, in milliseconds. */
const CALL_LIMIT = 5000;

/** What a call may be late by: 50 ms, and what a few timers in a row may add. */
const SLACK = 60;

/** No call outlives its own time, whatever server and network do. */
export class Calls {
  readonly #troubles: Troubles;
  readonly #report: Report;
  readonly #open = new Map<string, OpenCall>();
  readonly #ttls = new Map<string, number>();
  #next = Infinity;

  constructor(troubles: Troubles, report: Report) {
    this.#troubles = troubles;
    this.#report = report;
  }

  read(event: HistoryEvent): void {
    if (event.type === 'run') {
      for (const { name, ttl } of event.semaphores) this.#ttls.set(name, ttl);
    } else if (event.type === 'invoke') {
      const rate = this.#troubles.rates.get(event.process) ?? 1;
      const due = event.at + this.#limitOf(event) / rate + SLACK;
      this.#open.set(`${event.process} ${event.call}`, { event, due });
      this.#next = Math.min(this.#next, due);
    } else if (event.type === 'ok' || event.type === 'fail' || event.type === 'unknown') {
      this.#open.delete(`${event.process} ${event.call}`);
    }
  }

  passTo(now: number): void {
    if (now <= this.#next) return;
    this.#next = Infinity;
    for (const [key, call] of this.#open) {
      const { process, operation } = call.event;
      const due = Math.max(call.due, this.#troubles.stalledUntil(process) + SLACK);
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
