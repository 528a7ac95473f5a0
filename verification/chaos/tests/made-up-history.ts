import type { FaultEvent, Grant, HistoryEvent } from '../../history/events.js';
import type { FaultKind } from '../history/fault-kinds.js';
import type { Header } from '../checker/run-record.js';
import { inOrder } from '../../history/read-history.js';

/** What one holder did. All times in milliseconds. */
export interface MadeUpHold {
  readonly by?: string;
  readonly id?: string;
  readonly slots?: readonly number[];
  readonly token?: number;
  readonly permits?: number;
  /** When it asked; default: 5 before it was granted. */
  readonly invoked?: number;
  readonly from: number;
  /** When its release was invoked; undefined: never. */
  readonly to?: number | undefined;
  readonly released?: boolean;
  /** Until when it is certain when it hears of it; default: a ttl from then. */
  readonly until?: number;
  /** Until when it goes on to extend; default: `to`, or `from`. */
  readonly extendedUntil?: number;
  readonly lost?: readonly { readonly at: number; readonly reason: string }[];
  readonly looks?: readonly {
    readonly at: number;
    readonly until: number;
  }[];
}

interface FaultExtras {
  readonly targets?: readonly string[];
  readonly step?: number;
  readonly key?: string;
  readonly node?: number;
}

/** How often a made-up holder extends. */
const EXTEND_EVERY = 300;

/** Makes up a history as processes would have written it; what is not said is as it should be. */
export class MadeUpHistory {
  readonly #header: Header;
  readonly #events: HistoryEvent[] = [];
  #calls = 0;
  #faults = 0;

  constructor(header: Partial<Header> = {}) {
    const usual = {
      at: 0,
      name: 'made up',
      limit: 2,
      ttl: 1000,
      claim: 1000,
      recovery: 5000,
      ordered: true,
    };
    this.#header = { ...usual, ...header };
  }

  get events(): HistoryEvent[] {
    const { at, claim, recovery, ordered, ...terms } = this.#header;
    const run = { semaphores: [terms], nodes: ordered ? 1 : 3, claim, recovery };
    return inOrder([{ type: 'run', at, process: 'nemesis', ...run }, ...this.#events]);
  }

  add(...events: readonly HistoryEvent[]): this {
    this.#events.push(...events);
    return this;
  }

  /** An acquire, extensions, and a release. */
  hold(hold: MadeUpHold): this {
    const { by: process = 'w1', from, to, slots = [0], token = from } = hold;
    const { id = `${process}.${from}`, permits = slots.length, invoked = from - 5 } = hold;
    const call = ++this.#calls;
    const { name, ttl } = this.#header;
    const { until = from + ttl } = hold;
    this.add(
      {
        type: 'invoke',
        at: invoked,
        process,
        call,
        operation: 'acquire',
        semaphores: [name],
        timeout: 60_000,
        permits,
      },
      {
        type: 'ok',
        at: from,
        process,
        call,
        tickets: [{ semaphore: name, id, slots, token, until }],
      },
    );
    const last = hold.extendedUntil ?? to ?? from;
    for (let at = from + EXTEND_EVERY; at < last; at += EXTEND_EVERY) {
      this.add({ type: 'held', at, process, ticket: id, token, until: at + ttl });
    }
    for (const look of hold.looks ?? []) {
      this.add({ type: 'held', process, ticket: id, token, ...look });
    }
    for (const lost of hold.lost ?? []) {
      this.add({ type: 'lost', process, ticket: id, token, ...lost });
    }
    if (to !== undefined) this.#release(process, id, to, hold.released ?? true);
    return this;
  }

  /** An acquire that got nothing; `outcome` undefined: it does not end. */
  request(
    process: string,
    invoked: number,
    ended: number,
    outcome: 'fail' | 'unknown' | undefined,
    timeout: number,
  ): this {
    const call = ++this.#calls;
    const semaphores = [this.#header.name];
    this.add({
      type: 'invoke',
      at: invoked,
      process,
      call,
      operation: 'acquire',
      semaphores,
      timeout,
    });
    if (outcome === undefined) return this;
    return this.add({ type: outcome, at: ended, process, call, error: 'as made up' });
  }

  /** A fault that is there from `from` to `to`; nothing else takes time. */
  fault(kind: FaultKind, from: number, to: number, extras: FaultExtras = {}): this {
    const fault = ++this.#faults;
    const phases: [FaultEvent['phase'], number][] = [
      ['begin', from],
      ['active', from],
      ['ending', to],
      ['end', to],
    ];
    for (const [phase, at] of phases) {
      this.add({ type: 'fault', at, process: 'nemesis', fault, kind, phase, ...extras });
    }
    return this;
  }

  seen(at: number, holders: readonly Grant[], waiters: readonly string[] = []): this {
    return this.add({ type: 'seen', at, process: 'nemesis', asked: at - 1, holders, waiters });
  }

  quiet(at: number): this {
    return this.add({ type: 'quiet', at, process: 'nemesis' });
  }

  final(at: number, held: number, waiting: number, keys: readonly string[]): this {
    return this.add({ type: 'final', at, process: 'nemesis', held, waiting, keys });
  }

  #release(process: string, ticket: string, at: number, result: boolean): void {
    const call = ++this.#calls;
    const semaphores = [this.#header.name];
    this.add(
      { type: 'invoke', at, process, call, operation: 'release', semaphores, ticket },
      { type: 'ok', at: at + 1, process, call, result },
    );
  }
}
