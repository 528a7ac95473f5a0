import type { ServedOrder } from '../../history/events.js';

/** A request without options. */
const PLAIN: ServedOrder = { priority: 0, group: '', weight: 1 };

export interface Ordered {
  readonly permits: number;
  readonly order?: ServedOrder | undefined;
}

/** What was granted in the priority of a request since it waits. */
interface Turn {
  /** To the same flow, and to others. */
  own: number;
  others: number;
  /** The largest cost of the same flow, and the least of any. */
  dearest: number;
  cheapest: number;
}

/**
 * Counts for each waiting request how many grants of its priority came before its own.
 *
 * The bound follows from the order: a request that becomes the first of its flow comes after
 * virtual time by its cost. Each grant to others lifts virtual time, or takes a place among those
 * that wait, whose next request comes later by the least cost at least. So each of the places, and
 * one for newcomers that find a permit at once, has `1 + dearest / cheapest` grants before it at
 * most; and as many for each request of the same flow that was before it.
 */
export class Turns<R extends Ordered> {
  readonly #of = new WeakMap<R, Turn>();
  #most = 0;

  /** That many wait at once. */
  noteWaiting(count: number): void {
    this.#most = Math.max(this.#most, count);
  }

  /** It has left, or does not count for now: what it waited for is over. */
  forget(request: R): void {
    this.#of.delete(request);
  }

  /** A permit was granted while this one waits: whether it waits for too long. */
  isStarved(request: R, granted: Ordered): boolean {
    const { priority } = orderOf(request);
    if (orderOf(granted).priority !== priority) return false;
    const cost = costOf(request);
    const turn = this.#of.get(request) ?? { own: 0, others: 0, dearest: cost, cheapest: cost };
    this.#of.set(request, turn);
    turn.cheapest = Math.min(turn.cheapest, costOf(granted));
    if (isSameFlow(request, granted)) {
      turn.own += 1;
      turn.dearest = Math.max(turn.dearest, costOf(granted));
    } else turn.others += 1;
    const round = (this.#most + 1) * (1 + turn.dearest / turn.cheapest);
    return turn.others > (turn.own + 1) * round;
  }
}

/** Whether by the rules of its order, arrival aside, one comes before the other in any case. */
export function comesFirst(one: Ordered & { arrival: number }, other: Ordered, arrival: number) {
  if (isSameFlow(one, other)) return one.arrival < arrival;
  return orderOf(one).priority > orderOf(other).priority;
}

export function isSameFlow(one: Ordered, other: Ordered): boolean {
  const [{ priority, group }, second] = [orderOf(one), orderOf(other)];
  return priority === second.priority && group === second.group;
}

export function groupOf(request: Ordered): string {
  return orderOf(request).group;
}

function orderOf({ order = PLAIN }: Ordered): ServedOrder {
  return order;
}

function costOf(request: Ordered): number {
  return request.permits / orderOf(request).weight;
}
