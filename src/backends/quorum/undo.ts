import type { SemaphoreKey } from '../backend.js';
import type { Clock, Timer } from '../../time/clock.js';
import { randomBy } from '../../time/clock.js';
import { parseTicketId } from '../ticket-id.js';
import { withinLimit } from '../../calling/call-timeout.js';
import { MOST_IN_CALL } from './batch-size.js';
import type { NodeLink } from './node-link.js';
import type { DropCall } from './quorum-node.js';

/** How long one call may take, and the longest pause between two, in milliseconds. */
const CALL_LIMIT = 1000;
const FIRST_PAUSE = 20;

/** Tickets in one call. */
const BATCH = 1000;

interface Doomed {
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
export class Undo {
  readonly #link: NodeLink;
  readonly #clock: Clock;
  readonly #originOf: (key: SemaphoreKey) => DropCall['origin'];
  readonly #doomed = new Map<string, Doomed>();
  #busy = false;
  #gathering = false;
  #pause = FIRST_PAUSE;
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
    return this.#doomed.size;
  }

  /** `attempt`: later ones are left alone; Infinity: none is. `span`: how long what is there may live, in ms. */
  add(key: SemaphoreKey, id: string, attempt: number, span: number): void {
    const place = JSON.stringify([key.prefix, key.name, id]);
    const before = this.#doomed.get(place);
    const until = Math.max(before?.until ?? 0, this.#clock.monotonic() + span);
    const highest = Math.max(before?.attempt ?? 0, attempt);
    this.#doomed.set(place, { key, id, attempt: highest, until });
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
    await withinLimit(this.#clock, CALL_LIMIT, dropped, () => (failed = true));
    this.#busy = false;
    if (failed) this.#tryLater();
    else {
      this.#pause = FIRST_PAUSE;
      if (this.#doomed.size > 0) this.#gather();
    }
  }

  #drop(batch: readonly Doomed[]): Promise<unknown> {
    const [first] = batch;
    if (first === undefined) return Promise.resolve();
    const { key } = first;
    const origin = this.#originOf(key);
    return this.#link.call(CALL_LIMIT, (node) => node.drop({ key, origin, tickets: batch }));
  }

  /** Tickets of one semaphore; what has expired by itself is forgotten. */
  #nextBatch(): Map<string, Doomed> {
    const now = this.#clock.monotonic();
    const batch = new Map<string, Doomed>();
    let key: SemaphoreKey | undefined;
    let permits = 0;
    for (const [place, doomed] of this.#doomed) {
      if (doomed.until <= now) {
        this.#doomed.delete(place);
        continue;
      }
      key ??= doomed.key;
      if (doomed.key.name !== key.name || doomed.key.prefix !== key.prefix) continue;
      batch.set(place, doomed);
      permits += parseTicketId(doomed.id)?.permits ?? 1;
      if (batch.size === BATCH || permits >= MOST_IN_CALL) break;
    }
    return batch;
  }

  /** A later order for the same ticket stays. */
  #forget(batch: ReadonlyMap<string, Doomed>): void {
    for (const [place, doomed] of batch) {
      if (this.#doomed.get(place) === doomed) this.#doomed.delete(place);
    }
  }

  #tryLater(): void {
    const pause = this.#pause * (1 + randomBy(this.#clock));
    this.#pause = Math.min(2 * this.#pause, CALL_LIMIT);
    this.#timer = this.#clock.schedule(() => this.#gather(), pause, false);
  }
}
