/** A request as the order of the queue sees it. */
export interface ModelRequest {
  readonly id: string;
  readonly permits: number;
  readonly priority: number;
  readonly group: string;
  readonly weight: number;
}

/** The waiting requests of one priority and one group. */
interface Flow {
  readonly priority: number;
  readonly group: string;
  readonly waiting: (ModelRequest & { readonly arrival: number })[];
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
  groupLimit = Infinity;
  #flows: Flow[] = [];
  #times = new Map<number, number>();
  readonly #held = new Map<string, number>();
  #arrivals = 0;

  add(request: ModelRequest): void {
    this.#arrivals += 1;
    const asked = { ...request, arrival: this.#arrivals };
    const { priority, group } = request;
    const flow = this.#flows.find((each) => each.priority === priority && each.group === group);
    if (flow !== undefined) return void flow.waiting.push(asked);
    const made = { priority, group, waiting: [asked], tag: undefined };
    this.#flows.push(made);
    this.#lead(made, this.#timeOf(priority));
  }

  /** The first head, if it fits: one that does not fit blocks those behind it. */
  next(free: number): ModelRequest | undefined {
    if (free <= 0) return undefined;
    const heads = this.#flows.filter(({ tag }) => tag !== undefined);
    const [first] = heads.toSorted(compare);
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
    const stopped = this.#flows.filter((flow) => flow.group === group && flow.tag === undefined);
    for (const flow of stopped) this.#lead(flow, this.#timeOf(flow.priority));
  }

  withdraw(id: string): void {
    for (const flow of this.#flows) {
      const place = flow.waiting.findIndex((each) => each.id === id);
      const [first] = flow.waiting;
      if (place === 0 && first !== undefined) {
        const time = this.#timeOf(flow.priority);
        this.#shift(flow, flow.tag === undefined ? time : flow.tag - costOf(first));
      } else if (place > 0) flow.waiting.splice(place, 1);
    }
  }

  /** All that wait, in the order of grants if all fit from now on. */
  inOrder(): string[] {
    const copy = new OrderModel();
    copy.#times = new Map(this.#times);
    copy.#flows = this.#flows.map((flow) => ({ ...flow, waiting: [...flow.waiting] }));
    for (const flow of copy.#flows) {
      if (flow.tag === undefined) copy.#lead(flow, copy.#timeOf(flow.priority));
    }
    const ids: string[] = [];
    for (let one = copy.next(Infinity); one !== undefined; one = copy.next(Infinity)) {
      ids.push(one.id);
    }
    return ids;
  }

  /** The next of a flow becomes its head. */
  #shift(flow: Flow, start: number): void {
    flow.waiting.shift();
    if (flow.waiting.length > 0) this.#lead(flow, start);
    else this.#flows = this.#flows.filter((each) => each !== flow);
    const waits = this.#flows.some(({ priority }) => priority === flow.priority);
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
}

/** Which of two heads is first. */
function compare(one: Flow, other: Flow): number {
  return (
    other.priority - one.priority ||
    (one.tag ?? 0) - (other.tag ?? 0) ||
    (one.waiting[0]?.arrival ?? 0) - (other.waiting[0]?.arrival ?? 0)
  );
}

/** Millionths of a permit of weight 1. */
function costOf({ permits, weight }: ModelRequest): number {
  return Math.floor((permits * 1_000_000) / weight);
}
