/** A request as the order of the queue sees it. */
export interface ModelRequest {
  readonly id: string;
  readonly permits: number;
  readonly priority: number;
  readonly group: string;
  readonly weight: number;
}

/** What has one priority and one group. */
interface Flow {
  readonly priority: number;
  readonly group: string;
  readonly waiting: ModelRequest[];
  /** Of the first; undefined while its group has no room for it. */
  tag: number | undefined;
}

/**
 * The order of the queue as an executable model, which knows nothing of Redis, tickets or time:
 * priority, then fair shares of groups, then arrival.
 *
 * The first request of each flow is its head, and heads alone have a tag: virtual time when the
 * request becomes the head, and its cost. The head with the lowest tag is next. The virtual time of
 * a priority is the tag of its last grant: self-clocked fair queueing (Golestani, INFOCOM 1994).
 *
 * A flow whose group is at the group limit has no head; it gets one with a new tag when a permit of
 * the group comes back. A head whose group came to the limit by a grant of another priority is none
 * from when it would be next.
 */
export class OrderModel {
  readonly #flows = new Map<string, Flow>();
  readonly #times = new Map<number, number>();
  readonly #arrivals = new Map<string, number>();
  readonly #held = new Map<string, number>();
  groupLimit = Infinity;

  add(request: ModelRequest): void {
    this.#arrivals.set(request.id, this.#arrivals.size);
    const { priority, group } = request;
    const flow = this.#flows.get(keyOf(request));
    if (flow !== undefined) return void flow.waiting.push(request);
    const made = { priority, group, waiting: [request], tag: undefined };
    this.#flows.set(keyOf(request), made);
    this.#lead(made, this.#timeOf(priority));
  }

  /** The first head, if it fits: one that does not fit blocks those behind it. */
  next(free: number): ModelRequest | undefined {
    if (free <= 0) return undefined;
    const heads = [...this.#flows.values()].filter(({ tag }) => tag !== undefined);
    const [first] = heads.toSorted((a, b) => this.#compare(a, b));
    const [request] = first?.waiting ?? [];
    if (first?.tag === undefined || request === undefined) return undefined;
    if (!this.#hasRoom(request)) {
      first.tag = undefined;
      return this.next(free);
    }
    if (request.permits > free) return undefined;
    const time = Math.max(this.#timeOf(first.priority), first.tag);
    this.#times.set(first.priority, time);
    this.#held.set(request.group, (this.#held.get(request.group) ?? 0) + request.permits);
    this.#shift(first, time);
    return request;
  }

  release({ group, permits }: ModelRequest): void {
    this.#held.set(group, (this.#held.get(group) ?? 0) - permits);
    for (const flow of this.#flows.values()) {
      if (flow.group === group && flow.tag === undefined) {
        this.#lead(flow, this.#timeOf(flow.priority));
      }
    }
  }

  withdraw(id: string): void {
    for (const flow of this.#flows.values()) {
      const place = flow.waiting.findIndex((one) => one.id === id);
      const [first] = flow.waiting;
      if (place === 0 && first !== undefined) {
        const time = this.#timeOf(flow.priority);
        this.#shift(flow, flow.tag === undefined ? time : flow.tag - costOf(first));
      } else if (place > 0) flow.waiting.splice(place, 1);
    }
  }

  /** How many flows are remembered. */
  get flows(): number {
    return this.#flows.size;
  }

  /** All that wait, in the order of grants if all fit from now on. */
  inOrder(): string[] {
    const copy = new OrderModel();
    for (const [id, arrival] of this.#arrivals) copy.#arrivals.set(id, arrival);
    for (const [priority, time] of this.#times) copy.#times.set(priority, time);
    for (const [key, flow] of this.#flows) {
      const copied = { ...flow, waiting: [...flow.waiting] };
      copy.#flows.set(key, copied);
      if (flow.tag === undefined) copy.#lead(copied, copy.#timeOf(flow.priority));
    }
    const ids: string[] = [];
    for (let one = copy.next(Infinity); one !== undefined; one = copy.next(Infinity)) {
      ids.push(one.id);
    }
    return ids;
  }

  /** The next of a flow becomes its head. */
  #shift(flow: Flow, start: number): void {
    const [left] = flow.waiting.splice(0, 1);
    const [follower] = flow.waiting;
    if (follower !== undefined) this.#lead(flow, start);
    else if (left !== undefined) this.#flows.delete(keyOf(left));
    const waits = [...this.#flows.values()].some(({ priority }) => priority === flow.priority);
    if (!waits) this.#times.delete(flow.priority);
  }

  #lead(flow: Flow, start: number): void {
    const [first] = flow.waiting;
    if (first === undefined) return;
    flow.tag = this.#hasRoom(first) ? start + costOf(first) : undefined;
  }

  #hasRoom({ group, permits }: ModelRequest): boolean {
    return (this.#held.get(group) ?? 0) + permits <= this.groupLimit;
  }

  #timeOf(priority: number): number {
    return this.#times.get(priority) ?? 0;
  }

  #compare(one: Flow, other: Flow): number {
    if (one.priority !== other.priority) return other.priority - one.priority;
    const [a = 0, b = 0] = [one.tag, other.tag];
    if (a !== b) return a - b;
    return this.#arrivalOf(one) - this.#arrivalOf(other);
  }

  #arrivalOf({ waiting: [first] }: Flow): number {
    return this.#arrivals.get(first?.id ?? '') ?? 0;
  }
}

function keyOf({ priority, group }: ModelRequest): string {
  return `${priority} ${group}`;
}

/** Millionths of a permit of weight 1. */
function costOf({ permits, weight }: ModelRequest): number {
  return Math.floor((permits * 1_000_000) / weight);
}
