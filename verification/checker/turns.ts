import type { ServedOrder } from '../history/events.js';

/** A request without options. */
const PLAIN: ServedOrder = { priority: 0, group: '', weight: 1 };

export interface Ordered {
  readonly permits: number;
  readonly order?: ServedOrder | undefined;
}

/** The grants of its priority while a request waits. */
interface Turn {
  /** Grants to the same flow, and to others. */
  own: number;
  others: number;
  /** The largest cost of the same flow, and the least of any. */
  dearest: number;
  cheapest: number;
}

/**
 * Counts for each waiting request how many grants of its priority came before its own.
 *
 * The bound follows from the order: a request that becomes the first of its flow gets virtual time
 * and its cost as its tag. Each grant to another flow lifts virtual time, or goes to a request with
 * a lower tag, whose follower has a higher one by the least cost at least. So each waiting request,
 * and one newcomer that finds a free permit, can take `1 + dearest / cheapest` grants before it;
 * and as many again for each request of the same flow that was before it.
 */
export class Turns<R extends Ordered> {
  readonly #of = new WeakMap<R, Turn>();
  #most = 0;

  /** That many requests wait at once. */
  noteWaiting(count: number): void {
    this.#most = Math.max(this.#most, count);
  }

  /** The request has left, or does not count for now. */
  forget(request: R): void {
    this.#of.delete(request);
  }

  /** Counts a grant to another request; gives whether this one waits for too long. */
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

/** Whether a request comes before another in any case, whatever their groups got. */
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
