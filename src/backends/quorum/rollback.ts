import type { SemaphoreKey } from '../backend.js';
import type { Clock, Timer } from '../../time/clock.js';
import { nextTick, randomBy } from '../../time/clock.js';
import { placeOf } from '../place-of.js';
import { parseTicketId } from '../ticket-id.js';
import { withTimeout } from '../../time/call-timeout.js';
import { MAX_PERMITS_PER_CALL, MAX_TICKETS_PER_CALL } from './batch-size.js';
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

/**
 * Takes back on one node what no longer counts, until the node confirms it or it has expired there
 * by itself. At once, in the hope that the node executes calls in the order in which they were
 * sent, and again as soon as a node that was silent answers.
 */
export class Rollback {
  readonly #link: NodeLink;
  readonly #clock: Clock;
  readonly #sets: NodeSets;
  /** By semaphore and id; what failed last is last. */
  readonly #pending = new Map<string, PendingRollback>();
  #isBusy = false;
  #isGathering = false;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: Timer | undefined;

  constructor(link: NodeLink, clock: Clock, sets: NodeSets) {
    this.#link = link;
    this.#sets = sets;
    this.#clock = clock;
    link.onAnswer = () => {
      if (this.#timer !== undefined) this.#gather();
    };
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
    const until = Math.max(before?.until ?? 0, this.#clock.monotonic() + spanMs);
    const highest = Math.max(before?.attempt ?? 0, attempt);
    this.#pending.set(place, { key, id, attempt: highest, until });
    this.#gather();
  }

  /** What is added in one turn of the event loop travels together. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    nextTick(() => {
      this.#isGathering = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    if (this.#isBusy) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const groups = groupBySemaphore(this.#nextBatch());
    if (groups.length === 0) return;
    this.#isBusy = true;
    let confirmed = 0;
    const drops = groups.map(async (group) => {
      if (await this.#drop(group)) confirmed += 1;
    });
    const settled = Promise.all(drops);
    await withTimeout(this.#clock, CALL_TIMEOUT_MS, settled).catch(() => undefined);
    this.#isBusy = false;
    if (confirmed === 0) this.#tryLater();
    else {
      this.#pauseMs = FIRST_PAUSE_MS;
      if (this.#pending.size > 0) this.#gather();
    }
  }

  /** Tickets of one semaphore; whether the node confirmed it. */
  async #drop(tickets: readonly PendingRollback[]): Promise<boolean> {
    const [first] = tickets;
    if (first === undefined) return false;
    const { key } = first;
    const { claim } = this.#sets;
    const origin = claim && { set: claim.set, held: false };
    try {
      await this.#link.call(CALL_TIMEOUT_MS, (node, { timeoutMs }) =>
        node.drop({ key, origin, tickets, timeoutMs }),
      );
    } catch {
      for (const ticket of tickets)
        if (this.#remove(ticket)) this.#pending.set(placeOfTicket(ticket), ticket);
      return false;
    }
    for (const ticket of tickets) this.#remove(ticket);
    return true;
  }

  /** The first of those that still live on the node. */
  #nextBatch(): PendingRollback[] {
    const now = this.#clock.monotonic();
    const batch: PendingRollback[] = [];
    let permits = 0;
    for (const [place, pending] of this.#pending) {
      if (pending.until <= now) {
        this.#pending.delete(place);
        continue;
      }
      batch.push(pending);
      permits += parseTicketId(pending.id)?.permits ?? 1;
      if (batch.length === MAX_TICKETS_PER_CALL || permits >= MAX_PERMITS_PER_CALL) break;
    }
    return batch;
  }

  /** Unless there is a later order for the same ticket. */
  #remove(ticket: PendingRollback): boolean {
    const place = placeOfTicket(ticket);
    return this.#pending.get(place) === ticket && this.#pending.delete(place);
  }

  #tryLater(): void {
    const pauseMs = this.#pauseMs * (1 + randomBy(this.#clock));
    this.#pauseMs = Math.min(2 * this.#pauseMs, CALL_TIMEOUT_MS);
    this.#timer = this.#clock.schedule(() => this.#gather(), pauseMs, false);
  }
}

function groupBySemaphore(tickets: readonly PendingRollback[]): PendingRollback[][] {
  const groups = new Map<string, PendingRollback[]>();
  for (const ticket of tickets) {
    const place = placeOf(ticket.key);
    const group = groups.get(place);
    if (group === undefined) groups.set(place, [ticket]);
    else group.push(ticket);
  }
  return [...groups.values()];
}

function placeOfTicket({ key, id }: Pick<PendingRollback, 'key' | 'id'>): string {
  return JSON.stringify([key.prefix, key.name, id]);
}
