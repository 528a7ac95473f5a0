import type { ServedEvent } from '../history/events.js';

interface Arrival {
  readonly at: number;
  /** How long its call was on its way, in milliseconds. */
  readonly took: number;
}

/** How long an answer may be on its way, in milliseconds. */
const ANSWER = 2000;

/** For how long arrivals are kept, in milliseconds: longer than any call that is judged by them. */
const KEPT = 20_000;

/** How long calls were on their way: a process knows the server's clock no better than that. */
export class Arrivals {
  readonly #of = new Map<string, Arrival[]>();

  read({ client, at, sent = at, unheard }: ServedEvent): void {
    if (unheard === true) return;
    const arrivals = this.#of.get(client) ?? [];
    arrivals.push({ at, took: at - sent });
    const kept = arrivals.findLastIndex((one) => one.at < at - KEPT);
    this.#of.set(client, kept > 0 ? arrivals.slice(kept) : arrivals);
  }

  /** The longest way of a call whose answer may be the last that a process had since then. */
  longest(client: string, since: number): number {
    const arrivals = this.#of.get(client) ?? [];
    const last = arrivals.findLastIndex(({ at }) => at < since - ANSWER);
    return Math.max(0, ...arrivals.slice(Math.max(last, 0)).map(({ took }) => took));
  }
}
