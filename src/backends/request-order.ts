import { Heap, type Heaped } from './heap.js';
import type { RequestOrder, WaiterState } from './backend.js';

/** Of a request without options. */
export const NO_ORDER: RequestOrder = { priority: 0, weight: 1, group: '' };

const PRIORITIES = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/** A request that waits, and what decides when it is granted. */
export interface Standing extends Pick<WaiterState, 'id' | 'label' | 'permits'> {
  /** In microseconds. */
  readonly arrival: number;
  readonly order: RequestOrder;
  /** Of the first of its flow: its tag; undefined where all come in the order of arrival. */
  readonly tag: number | undefined;
  /** Its client is alive. */
  readonly living: boolean;
}

/** By how much a request comes after virtual time. */
export function costOf({ permits, order }: Pick<Standing, 'permits' | 'order'>): number {
  return Math.floor((permits * 1_000_000) / order.weight);
}

/** Flows take turns; within a flow requests come in order of arrival. */
export function flowOf({ priority, group }: RequestOrder): string {
  return `${priority} ${group}`;
}

/**
 * The requests of living clients, in the order in which they will be granted; at the end the
 * requests for more than the limit.
 * @param most the limit, or Infinity while that is 0
 * @param now server time in milliseconds
 * @param timeOf the virtual time of a priority
 */
export function waitersOf(
  all: readonly Standing[],
  most: number,
  now: number,
  timeOf: (priority: number) => number,
): WaiterState[] {
  const byArrival = all.toSorted((one, other) => one.arrival - other.arrival);
  const ordered = PRIORITIES.flatMap((priority) => {
    const own = byArrival.filter((one) => one.order.priority === priority && one.permits <= most);
    return grantsOf(own, timeOf(priority));
  });
  const aside = byArrival.filter((one) => one.permits > most);
  const living = [...ordered, ...aside].filter((one) => one.living);
  return living.map(({ id, permits, arrival, label, order }, position) => {
    const waitingFor = Math.max(0, now - arrival / 1000);
    return { id, permits, position, waitingFor, label, ...order };
  });
}

/** A request among those of its flow. */
interface Place extends Heaped {
  readonly one: Standing;
  tag: number;
  /** The next of its flow. */
  readonly behind: Place | undefined;
}

/** Requests of one priority as they leave the queue, the dead among them. */
function grantsOf(byArrival: readonly Standing[], from: number): Standing[] {
  const flows = new Map<string, Place>();
  for (const one of byArrival.toReversed()) {
    const flow = flowOf(one.order);
    const { tag = from + costOf(one) } = one;
    flows.set(flow, { one, tag, behind: flows.get(flow), index: 0 });
  }
  const heads = new Heap<Place>(
    (a, b) => a.tag < b.tag || (a.tag === b.tag && a.one.arrival < b.one.arrival),
  );
  for (const head of flows.values()) heads.add(head);
  const left: Standing[] = [];
  let time = from;
  for (let head = heads.lowest; head !== undefined; head = heads.lowest) {
    const { one, tag, behind } = head;
    heads.remove(head);
    left.push(one);
    if (one.living) time = Math.max(time, tag);
    if (behind === undefined) continue;
    const start = one.living ? time : tag - costOf(one);
    behind.tag = start + costOf(behind.one);
    heads.add(behind);
  }
  return left;
}
