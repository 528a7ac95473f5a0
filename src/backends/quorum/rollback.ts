import type { SemaphoreKey } from '../backend.js';
import type { Clock, Timer } from '../../time/clock.js';
import { nextTick, randomBy } from '../../time/clock.js';
import { placeOf } from '../place-of.js';
import { withTimeout } from '../../time/call-timeout.js';
import type { BatchSize } from './batch-size.js';
import { MAX_TICKETS_PER_CALL, permitsOf } from './batch-size.js';
import type { NodeLink } from './node-link.js';
import type { NodeSets } from './node-sets.js';

/** How long one call may take, and the longest pause between two. */
const CALL_TIMEOUT_MS = 1000;
const FIRST_PAUSE_MS = 20;

interface PendingRollback {
  readonly key: SemaphoreKey;
  readonly id: string;
  readonly attempt: number;
  /** Monotonic time by which the node has dropped it by itself. */
  readonly until: number;
}

export interface RollbackOptions {
  readonly link: NodeLink;
  readonly clock: Clock;
  readonly sets: NodeSets;
  readonly batches: BatchSize;
}

/**
 * Takes back on one node what no longer counts, until the node confirms it or it has expired there
 * by itself. At once, in the hope that the node executes calls in the order in which they were
 * sent, and again as soon as a node that was silent answers.
 */
export class Rollback {
  readonly #options: RollbackOptions;
  /** By semaphore and id. */
  readonly #pending = new Map<string, PendingRollback>();
  /** What is added in one turn of the event loop travels together. */
  #unsent: PendingRollback[] = [];
  #failed: PendingRollback[] = [];
  #pauseMs = FIRST_PAUSE_MS;
  #timer: Timer | undefined;

  constructor(options: RollbackOptions) {
    this.#options = options;
    options.link.onAnswer = () => this.#retry();
  }

  /** How many tickets are still to be taken back. */
  get size(): number {
    return this.#pending.size;
  }

  /**
   * `attempt`: later ones are left alone; Infinity: none is. `spanMs`: how long what is there may
   * live.
   */
  add(key: SemaphoreKey, id: string, attempt: number, spanMs: number): void {
    const place = placeOfTicket({ key, id });
    const before = this.#pending.get(place);
    const until = Math.max(before?.until ?? 0, this.#options.clock.monotonic() + spanMs);
    const highest = Math.max(before?.attempt ?? 0, attempt);
    const ticket = { key, id, attempt: highest, until };
    this.#pending.set(place, ticket);
    this.#sendSoon([ticket]);
  }

  #sendSoon(tickets: readonly PendingRollback[]): void {
    if (tickets.length === 0) return;
    if (this.#unsent.length === 0) nextTick(() => this.#send());
    this.#unsent.push(...tickets);
  }

  #send(): void {
    const now = this.#options.clock.monotonic();
    const bySemaphore = new Map<string, PendingRollback[]>();
    for (const ticket of this.#unsent) {
      const place = placeOf(ticket.key);
      const others = bySemaphore.get(place);
      if (ticket.until <= now) this.#remove(ticket);
      else if (others === undefined) bySemaphore.set(place, [ticket]);
      else others.push(ticket);
    }
    this.#unsent = [];
    for (const tickets of bySemaphore.values()) {
      const parts = this.#options.batches.split(tickets, ({ id }) => permitsOf(id));
      for (const part of parts) void this.#drop(part);
    }
  }

  /** Tickets of one semaphore. */
  async #drop(tickets: readonly PendingRollback[]): Promise<void> {
    const { link, clock, sets } = this.#options;
    const [first] = tickets;
    if (first === undefined) return;
    const { key } = first;
    const origin = sets.claim && { set: sets.claim.set, held: false };
    const dropping = link.call(CALL_TIMEOUT_MS, (node, { timeoutMs }) =>
      node.drop({ key, origin, tickets, timeoutMs }),
    );
    try {
      await withTimeout(clock, CALL_TIMEOUT_MS, dropping);
      this.#pauseMs = FIRST_PAUSE_MS;
      for (const ticket of tickets) this.#remove(ticket);
    } catch {
      this.#failed.push(...tickets.filter((ticket) => this.#isPending(ticket)));
      if (this.#timer === undefined) this.#retryLater();
    }
  }

  /** There may be a later order for the same ticket. */
  #isPending(ticket: PendingRollback): boolean {
    return this.#pending.get(placeOfTicket(ticket)) === ticket;
  }

  #remove(ticket: PendingRollback): void {
    if (this.#isPending(ticket)) this.#pending.delete(placeOfTicket(ticket));
  }

  /** A part of what failed: the answer to it is the next occasion. */
  #retry(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sendSoon(this.#failed.splice(0, MAX_TICKETS_PER_CALL));
  }

  #retryLater(): void {
    const { clock } = this.#options;
    const pauseMs = this.#pauseMs * (1 + randomBy(clock));
    this.#pauseMs = Math.min(2 * this.#pauseMs, CALL_TIMEOUT_MS);
    this.#timer = clock.schedule(() => this.#retry(), pauseMs, false);
  }
}

function placeOfTicket({ key, id }: Pick<PendingRollback, 'key' | 'id'>): string {
  return `${id} ${placeOf(key)}`;
}
