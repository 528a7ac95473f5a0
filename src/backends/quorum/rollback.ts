import type { SemaphoreKey } from '../backend.js';
import type { Clock, Timer } from '../../time/clock.js';
import { randomBy } from '../../time/clock.js';
import { parseTicketId } from '../ticket-id.js';
import { withinLimit } from '../../calling/call-timeout.js';
import { MAX_PERMITS_PER_CALL, MAX_TICKETS_PER_CALL } from './batch-size.js';
import type { NodeLink } from './node-link.js';
import type { DropCall } from './quorum-node.js';

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
 * Takes back on one node what no longer counts, until the node confirms it or it has expired there by itself. At
 * once, in the hope that the node executes calls in the order in which they were sent, and again as soon as a node that
 * was silent answers.
 */
export class Rollback {
  readonly #link: NodeLink;
  readonly #clock: Clock;
  readonly #originOf: (key: SemaphoreKey) => DropCall['origin'];
  readonly #pending = new Map<string, PendingRollback>();
  #busy = false;
  #gathering = false;
  #pause = FIRST_PAUSE_MS;
  #timer: Timer | undefined;

  constructor(
    link: NodeLink,
    clock: Clock,
    originOf: (key: SemaphoreKey) => DropCall['origin'] = () => undefined,
  ) {
    this.#link = link;
    this.#originOf = originOf;
    this.#clock = clock;
    link.onAnswer = () => {
      if (this.#timer !== undefined) this.#gather();
    };
  }

  /** How many tickets are still to be taken back. */
  get size(): number {
    return this.#pending.size;
  }

  /** `attempt`: later ones are left alone; Infinity: none is. `span`: how long what is there may live, in ms. */
  add(key: SemaphoreKey, id: string, attempt: number, span: number): void {
    const place = JSON.stringify([key.prefix, key.name, id]);
    const before = this.#pending.get(place);
    const until = Math.max(before?.until ?? 0, this.#clock.monotonic() + span);
    const highest = Math.max(before?.attempt ?? 0, attempt);
    this.#pending.set(place, { key, id, attempt: highest, until });
    this.#gather();
  }

  /** What is added in one turn of the event loop travels together. */
  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    process.nextTick(() => {
      this.#gathering = false;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    if (this.#busy) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const batch = this.#nextBatch();
    if (batch.size === 0) return;
    this.#busy = true;
    let failed = false;
    const dropped = this.#drop([...batch.values()]).then(
      () => this.#forget(batch),
      () => void (failed = true),
    );
    await withinLimit(this.#clock, CALL_TIMEOUT_MS, dropped, () => (failed = true));
    this.#busy = false;
    if (failed) this.#tryLater();
    else {
      this.#pause = FIRST_PAUSE_MS;
      if (this.#pending.size > 0) this.#gather();
    }
  }

  #drop(batch: readonly PendingRollback[]): Promise<unknown> {
    const [first] = batch;
    if (first === undefined) return Promise.resolve();
    const { key } = first;
    const origin = this.#originOf(key);
    return this.#link.call(CALL_TIMEOUT_MS, (node, { timeoutMs }) =>
      node.drop({ key, origin, tickets: batch, timeoutMs }),
    );
  }

  /** Tickets of one semaphore; what has expired by itself is forgotten. */
  #nextBatch(): Map<string, PendingRollback> {
    const now = this.#clock.monotonic();
    const batch = new Map<string, PendingRollback>();
    let key: SemaphoreKey | undefined;
    let permits = 0;
    for (const [place, pending] of this.#pending) {
      if (pending.until <= now) {
        this.#pending.delete(place);
        continue;
      }
      key ??= pending.key;
      if (pending.key.name !== key.name || pending.key.prefix !== key.prefix) continue;
      batch.set(place, pending);
      permits += parseTicketId(pending.id)?.permits ?? 1;
      if (batch.size === MAX_TICKETS_PER_CALL || permits >= MAX_PERMITS_PER_CALL) break;
    }
    return batch;
  }

  /** A later order for the same ticket stays. */
  #forget(batch: ReadonlyMap<string, PendingRollback>): void {
    for (const [place, pending] of batch) {
      if (this.#pending.get(place) === pending) this.#pending.delete(place);
    }
  }

  #tryLater(): void {
    const pause = this.#pause * (1 + randomBy(this.#clock));
    this.#pause = Math.min(2 * this.#pause, CALL_TIMEOUT_MS);
    this.#timer = this.#clock.schedule(() => this.#gather(), pause, false);
  }
}
