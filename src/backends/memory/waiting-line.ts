import type { RequestOrder } from '../backend.js';
import { WAITER_LEASE_MS } from '../protocol.js';
import type { Standing } from '../request-order.js';
import { costOf, flowOf, inOrderOfGrants, NO_ORDER } from '../request-order.js';
import { HeapById } from './heap-by-id.js';
import type { Waiter } from './waiting-flow.js';
import { PriorityBand, WaitingFlow } from './waiting-flow.js';

const PLAIN_FLOW = flowOf(NO_ORDER);

/**
 * Requests by priority, tag and arrival, as `order.lua` has it, and until when those of each client
 * count.
 */
export class WaitingLine {
  readonly #waiters = new Map<string, Waiter>();
  readonly #leases = new Map<string, number>();
  readonly #flows = new Map<string, WaitingFlow>();
  readonly #bands = Array.from({ length: 10 }, () => new PriorityBand());
  /** Those that ask for more than the limit. */
  readonly #parked = new HeapById<Waiter>(
    ({ permits }) => permits,
    ({ arrival }) => arrival,
  );
  /** Whether leases were over since dead clients' requests were last dropped. */
  #unswept = false;
  /** How many have options. */
  #others = 0;
  get size(): number {
    return this.#waiters.size;
  }

  get(id: string): Waiter | undefined {
    return this.#waiters.get(id);
  }

  has(id: string): boolean {
    return this.#waiters.has(id);
  }

  /** No other may be there under its id. Its client lives. */
  add(waiter: Waiter, now: number): void {
    this.#waiters.set(waiter.id, waiter);
    this.#leases.set(waiter.client, now + WAITER_LEASE_MS);
    if (flowOf(waiter.order) !== PLAIN_FLOW) this.#others += 1;
    this.#join(waiter);
  }

  /** It leaves without a permit. */
  remove(id: string): void {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return;
    this.#forget(waiter);
    if (this.#parked.remove(id) === undefined) this.#leave(waiter);
  }

  /** The first is granted. */
  take(waiter: Waiter): void {
    const [band, flow] = [this.#bandOf(waiter.order), this.#flows.get(flowOf(waiter.order))];
    if (flow === undefined) return;
    this.#forget(waiter);
    band.passTo(flow.tag);
    flow.start = band.time;
    this.#leave(waiter);
  }

  /** It asks for more than the limit: it waits aside until that has grown. */
  park(waiter: Waiter): void {
    this.#leave(waiter);
    this.#parked.add(waiter);
  }

  /** The limit may have grown. Whether it makes room for any that waits aside. */
  unpark(limit: number, now: number): boolean {
    let found = false;
    for (let { lowest } = this.#parked; lowest !== undefined; { lowest } = this.#parked) {
      if (!this.isAlive(lowest, now)) this.remove(lowest.id);
      else if (lowest.permits > limit) break;
      else {
        this.#parked.remove(lowest.id);
        this.#join(lowest);
        found = true;
      }
    }
    return found;
  }

  /**
   * Whether anything but arrival may decide: requests with options, those that ask for more than
   * the limit, or what such have left of virtual time.
   */
  get ordered(): boolean {
    if (this.#others + this.#parked.size > 0) return true;
    const plain = this.#flows.get(PLAIN_FLOW);
    return plain !== undefined && plain.start !== this.#bandOf(NO_ORDER).time;
  }

  /** The next to be granted. */
  get first(): Waiter | undefined {
    const band = this.#bands.findLast(({ heads }) => heads.size > 0);
    return band?.heads.lowest?.lowest;
  }

  /** Whether a newcomer comes before that waiter, which is the first. */
  isBefore(permits: number, order: RequestOrder, first: Waiter): boolean {
    if (this.#flows.has(flowOf(order))) return false;
    if (order.priority !== first.order.priority) return order.priority > first.order.priority;
    return this.#tagOf(permits, order) < (this.#flows.get(flowOf(first.order))?.tag ?? 0);
  }

  /** A newcomer is granted before the waiters. */
  pass(permits: number, order: RequestOrder): void {
    this.#bandOf(order).passTo(this.#tagOf(permits, order));
  }

  /** The one of these that came first. */
  firstOf(some: readonly { readonly id: string }[]): Waiter | undefined {
    let first: Waiter | undefined;
    for (const { id } of some) {
      const waiter = this.get(id);
      if (waiter !== undefined && waiter.arrival < (first?.arrival ?? Infinity)) first = waiter;
    }
    return first;
  }

  /** How many came before it, whether they live or not; see `turn_by_rate` in `rate.lua`. */
  ahead({ arrival }: Waiter): number {
    return [...this.#waiters.values()].filter((other) => other.arrival < arrival).length;
  }

  /** How many come before it; see `progress.lua`. */
  positionOf(id: string): number {
    const waiter = this.#waiters.get(id);
    const flow = waiter && this.#flows.get(flowOf(waiter.order));
    if (waiter === undefined || flow === undefined || this.#parked.has(id)) return this.size - 1;
    const turns = [...flow.values()].filter(({ arrival }) => arrival < waiter.arrival).length;
    const band = this.#bandOf(waiter.order);
    const above = this.#bands.slice(waiter.order.priority + 1);
    const higher = above.reduce((sum, { heads }) => sum + heads.size, 0);
    const before = band.heads
      .all()
      .filter(({ tag, lowest }) =>
        tag === flow.tag ? (lowest?.arrival ?? 0) < (flow.lowest?.arrival ?? 0) : tag < flow.tag,
      ).length;
    return Math.min(this.size - 1, higher + before + turns * band.heads.size);
  }

  /** Those that count, in the order of grants. */
  living(now: number): Waiter[] {
    const standings = [...this.#waiters.values()].map((waiter) => ({
      ...this.#standing(waiter, now),
      waiter,
    }));
    const timeOf = (priority: number): number => this.#bands[priority]?.time ?? 0;
    return inOrderOfGrants(standings, timeOf).map(({ waiter }) => waiter);
  }

  /** Whether leases of others were over since the last `sweep`. */
  renewLease(client: string, now: number): boolean {
    this.#leases.set(client, now + WAITER_LEASE_MS);
    return this.#dropLeases(now);
  }

  /** As `renewLease`, where the client has a lease. */
  keepLease(client: string, now: number): boolean {
    return this.#leases.has(client) ? this.renewLease(client, now) : this.#dropLeases(now);
  }

  #dropLeases(now: number): boolean {
    const before = this.#leases.size;
    for (const [client, until] of this.#leases) if (until <= now) this.#leases.delete(client);
    this.#unswept ||= this.#leases.size < before;
    return this.#unswept;
  }

  /** Drops those that do not count. */
  sweep(now: number): void {
    this.#unswept = false;
    for (const waiter of this.#waiters.values()) {
      if (!this.isAlive(waiter, now)) this.remove(waiter.id);
    }
  }

  isAlive({ client }: Waiter, now: number): boolean {
    return (this.#leases.get(client) ?? -Infinity) > now;
  }

  #bandOf({ priority }: RequestOrder): PriorityBand {
    const band = this.#bands[priority];
    if (band === undefined) throw new Error(`no such priority: ${priority}`);
    return band;
  }

  /** Of a newcomer whose flow does not wait. */
  #tagOf(permits: number, order: RequestOrder): number {
    return this.#bandOf(order).time + costOf(permits, order);
  }

  #join(waiter: Waiter): void {
    const key = flowOf(waiter.order);
    const { heads, time } = this.#bandOf(waiter.order);
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      this.#flows.set(key, (flow = new WaitingFlow(time)));
      flow.add(waiter);
      heads.add(flow);
    } else {
      flow.add(waiter);
      if (flow.lowest === waiter) heads.moved(flow);
    }
  }

  #forget({ id, order }: Waiter): void {
    this.#waiters.delete(id);
    if (flowOf(order) !== PLAIN_FLOW) this.#others -= 1;
  }

  #leave({ id, order }: Waiter): void {
    const key = flowOf(order);
    const flow = this.#flows.get(key);
    if (flow === undefined) return;
    flow.remove(id);
    if (flow.size > 0) return this.#bandOf(order).heads.moved(flow);
    this.#bandOf(order).close(flow);
    this.#flows.delete(key);
  }

  #standing(waiter: Waiter, now: number): Standing {
    const { id, arrival, permits, order } = waiter;
    const tag = this.#flows.get(flowOf(order))?.tag;
    const [parked, living] = [this.#parked.has(id), this.isAlive(waiter, now)];
    return { arrival, permits, order, parked, tag, living };
  }
}
