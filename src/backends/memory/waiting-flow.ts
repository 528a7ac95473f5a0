import type { Heaped } from './heap.js';
import { Heap } from './heap.js';
import type { AcquireCall, RequestOrder, TicketRequest, WaiterState } from '../backend.js';
import { CLAIM_TIME_MS } from '../protocol.js';
import { NO_ORDER } from '../request-order.js';
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

/** Requests of one priority and one group, by arrival, and the virtual start of the first. */
export class WaitingFlow extends HeapById<Waiter> implements Heaped {
  place = 0;
  start: number;

  constructor(start: number) {
    super(({ arrival }) => arrival);
    this.start = start;
  }
}

/** A flow that waits for nothing, until its finish has passed. */
interface IdleFlow extends Named {
  readonly finish: number;
}

/** The flows of one priority, and the virtual start of its last grant. */
export class PriorityBand {
  readonly heads: Heap<WaitingFlow> = new Heap<WaitingFlow>(
    ({ start }) => start,
    ({ lowest }) => lowest?.arrival ?? 0,
  );
  last = 0;
  #idle = new HeapById<IdleFlow>(({ finish }) => finish);

  get idle(): number {
    return this.#idle.size;
  }

  /** The virtual start of a flow that waits for nothing. */
  startOf(flow: string): number {
    return Math.max(this.last, this.#idle.get(flow)?.finish ?? 0);
  }

  open(flow: string): WaitingFlow {
    const opened = new WaitingFlow(this.startOf(flow));
    this.#idle.remove(flow);
    return opened;
  }

  /** Keeps the finish of a flow that waits for nothing, if it has not passed. */
  keep(id: string, finish: number): void {
    this.#idle.remove(id);
    if (finish > this.last) this.#idle.add({ id, finish, place: 0 });
  }

  /** Forgets flows whose finish has passed; all where nobody waits. */
  settle(): void {
    if (this.heads.size === 0) this.reset();
    for (let { lowest } = this.#idle; lowest !== undefined; { lowest } = this.#idle) {
      if (lowest.finish > this.last) return;
      this.#idle.remove(lowest.id);
    }
  }

  reset(): void {
    this.last = 0;
    this.#idle = new HeapById(({ finish }) => finish);
    for (const flow of this.heads.all()) flow.start = 0;
  }
}
