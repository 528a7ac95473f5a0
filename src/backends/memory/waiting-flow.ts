import type { Heaped } from '../heap.js';
import { Heap } from '../heap.js';
import type { AcquireCall, RequestOrder, TicketRequest, WaiterState } from '../backend.js';
import { CLAIM_TIME_MS } from '../protocol.js';
import { costOf, NO_ORDER } from '../request-order.js';
import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';

export interface Waiter extends Named {
  readonly permits: number;
  readonly client: string;
  readonly label: string;
  /** What a separate ticket would get. */
  readonly ttl: number;
  /** Its place: lower numbers come first. */
  readonly arrival: number;
  readonly order: RequestOrder;
}

export function newWaiter(request: TicketRequest, call: AcquireCall, arrival: number): Waiter {
  const { id, permits, order = NO_ORDER } = request;
  const { client, label, ttl } = call;
  return { id, permits, client, arrival, label, ttl, order, place: 0 };
}

export function waiterState(waiter: Waiter, position: number, now: number): WaiterState {
  const { id, permits, arrival, label, order } = waiter;
  const { priority, group, weight } = order;
  const waitingFor = Math.max(0, now - arrival / 1000);
  return { id, permits, position, waitingFor, label, priority, group, weight };
}

/**
 * How long a ticket lives that was granted to a waiter: where nobody claims it, it comes back.
 */
export function claimTime({ ttl }: Waiter): number {
  return Math.min(ttl, CLAIM_TIME_MS);
}

/** Requests of one priority and one group, by arrival. */
export class WaitingFlow extends HeapById<Waiter> implements Heaped {
  place = 0;
  /** Virtual time when the first became that, or what it took over from one that left. */
  start: number;

  constructor(start: number) {
    super(({ arrival }) => arrival);
    this.start = start;
  }

  /** That of the first. */
  get tag(): number {
    const { lowest } = this;
    return this.start + (lowest === undefined ? 0 : costOf(lowest.permits, lowest.order));
  }
}

/** The flows of one priority that wait, and its virtual time: the tag of the last grant. */
export class PriorityBand {
  readonly heads: Heap<WaitingFlow> = new Heap<WaitingFlow>(
    ({ tag }) => tag,
    ({ lowest }) => lowest?.arrival ?? 0,
  );
  #time = 0;

  get time(): number {
    return this.#time;
  }

  /** A request with this tag is granted. */
  passTo(tag: number): void {
    this.#time = Math.max(this.#time, tag);
    if (this.heads.size === 0) this.#time = 0;
  }

  close(flow: WaitingFlow): void {
    this.heads.remove(flow);
    if (this.heads.size === 0) this.#time = 0;
  }
}
