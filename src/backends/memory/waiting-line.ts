import type { RequestOrder } from '../backend.js';
import { WAITER_LEASE_MS } from '../protocol.js';
import type { Standing } from '../request-order.js';
import { bandOf, costOf, flowOf, inOrderOfGrants, NO_ORDER } from '../request-order.js';
import type { Waiter, WaitingFlow } from './waiting-flow.js';
import { PriorityBand } from './waiting-flow.js';

const PLAIN_FLOW = flowOf(NO_ORDER);

/**
 * Requests by priority, virtual start and arrival, as `order.lua` has it, and until when those of
 * each client count.
 */
export class WaitingLine {
  readonly #waiters = new Map<string, Waiter>();
  readonly #leases = new Map<string, number>();
  readonly #flows = new Map<string, WaitingFlow>();
  readonly #bands = Array.from({ length: 10 }, () => new PriorityBand());
  /** Those that ask for more than the limit. */
  readonly #parked = new Map<string, Waiter>();
  /** Whether leases were over since dead clients' requests were last dropped. */
  #unswept = false;
  /** How many have options. */
  #others = 0;
  /** Whether virtual time counts: else all come in the order of arrival. */
  #ordered = false;

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
    if (flowOf(waiter.order) !== PLAIN_FLOW) {
      this.#others += 1;
      this.#ordered = true;
    }
    this.#join(waiter);
  }

  /** It leaves without a permit. */
  remove(id: string): void {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return;
    this.#forget(waiter);
    if (!this.#parked.delete(id)) this.#leave(waiter, 0);
  }

  /** It is granted. */
  take(waiter: Waiter): void {
    const { start = 0 } = this.#flows.get(flowOf(waiter.order)) ?? {};
    this.#forget(waiter);
    if (this.#ordered) this.#bandOf(waiter.order).last = start;
    this.#leave(waiter, this.#ordered ? costOf(waiter.permits, waiter.order) : 0);
  }

  /** It asks for more than the limit: it waits aside until that has grown. */
  park(waiter: Waiter): void {
    this.#parked.set(waiter.id, waiter);
    this.#leave(waiter, 0);
  }

  /** The limit may have grown. */
  unpark(limit: number, now: number): void {
    for (const waiter of this.#parked.values()) {
      if (!this.isAlive(waiter, now)) this.remove(waiter.id);
      else if (waiter.permits <= limit) this.#unpark(waiter);
    }
  }

  #unpark(waiter: Waiter): void {
    this.#parked.delete(waiter.id);
    this.#join(waiter);
  }

  /** The next to be granted. */
  get first(): Waiter | undefined {
    const band = this.#bands.findLast(({ heads }) => heads.size > 0);
    return band?.heads.lowest?.lowest;
  }

  /** What a newcomer is compared by with waiters: lower comes first. */
  rankOf(order: RequestOrder): number {
    const flow = flowOf(order);
    if (this.#ordered && this.#flows.has(flow)) return Infinity;
    return bandOf(order) + (this.#ordered ? this.#bandOf(order).startOf(flow) : 0);
  }

  /** That of the first waiter. */
  rankOfFirst({ order }: Waiter): number {
    return bandOf(order) + (this.#flows.get(flowOf(order))?.start ?? 0);
  }

  /** A newcomer is granted before the waiters. */
  pass(permits: number, order: RequestOrder): void {
    if (!this.#ordered) return;
    const [band, flow] = [this.#bandOf(order), flowOf(order)];
    band.last = band.startOf(flow);
    band.keep(flow, band.last + costOf(permits, order));
  }

  /** The end of a call: what no longer counts is forgotten. */
  settle(): void {
    if (!this.#ordered) return;
    for (const band of this.#bands) band.settle();
    if (this.#others > 0 || this.#bands.some(({ idle }) => idle > 0)) return;
    this.#ordered = false;
    for (const band of this.#bands) band.reset();
    this.onServed();
  }

  /** Where all come in the order of arrival, so do those that ask for more than the limit. */
  onServed(): void {
    if (!this.#ordered) for (const waiter of this.#parked.values()) this.#unpark(waiter);
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

  /**
   * How many come before it at least, whether they live or not; see `turn_by_rate` in `rate.lua`.
   */
  ahead(waiter: Waiter): number {
    const flow = this.#flows.get(flowOf(waiter.order));
    const before = (all: Iterable<Waiter>): number =>
      [...all].filter(({ arrival }) => arrival < waiter.arrival).length;
    if (!this.#ordered) return before(this.#waiters.values());
    const isBehind = flow !== undefined && flow.lowest !== waiter && !this.#parked.has(waiter.id);
    if (flowOf(waiter.order) !== PLAIN_FLOW || !isBehind) return 0;
    return this.#bands.reduce((sum, { heads }) => sum + heads.size, before(flow.values()) - 1);
  }

  /** How many come before it; see `progress.lua`. */
  positionOf(id: string): number {
    const waiter = this.#waiters.get(id);
    const flow = waiter && this.#flows.get(flowOf(waiter.order));
    if (waiter === undefined || flow === undefined || this.#parked.has(id)) return this.size - 1;
    const turns = [...flow.values()].filter(({ arrival }) => arrival < waiter.arrival).length;
    if (!this.#ordered) return turns;
    const band = this.#bandOf(waiter.order);
    const above = this.#bands.slice(waiter.order.priority + 1);
    const higher = above.reduce((sum, { heads }) => sum + heads.size, 0);
    const before = [...band.heads.all()].filter(({ start, lowest }) =>
      start === flow.start
        ? (lowest?.arrival ?? 0) < (flow.lowest?.arrival ?? 0)
        : start < flow.start,
    ).length;
    return Math.min(this.size - 1, higher + before + turns * band.heads.size);
  }

  /** Those that count, in the order of grants. */
  living(now: number): Waiter[] {
    const standings = [...this.#waiters.values()].map((waiter) => ({
      ...this.#standing(waiter, now),
      waiter,
    }));
    return inOrderOfGrants(standings).map(({ waiter }) => waiter);
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

  #join(waiter: Waiter): void {
    const key = flowOf(waiter.order);
    const { heads } = this.#bandOf(waiter.order);
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      this.#flows.set(key, (flow = this.#bandOf(waiter.order).open(key)));
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

  /** The next of its flow comes after it by the cost. */
  #leave({ id, order }: Waiter, cost: number): void {
    const key = flowOf(order);
    const flow = this.#flows.get(key);
    if (flow === undefined) return;
    const band = this.#bandOf(order);
    flow.remove(id);
    flow.start += cost;
    if (flow.size > 0) return band.heads.moved(flow);
    band.heads.remove(flow);
    this.#flows.delete(key);
    band.keep(key, flow.start);
  }

  #standing(waiter: Waiter, now: number): Standing {
    const { id, arrival, permits, order } = waiter;
    const parked = this.#ordered && this.#parked.has(id);
    const flow = this.#flows.get(flowOf(order));
    return {
      arrival,
      permits,
      order,
      parked,
      start: this.#ordered ? flow?.start : 0,
      living: this.isAlive(waiter, now),
    };
  }
}
