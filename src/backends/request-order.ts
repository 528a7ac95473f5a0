import { Heap, type Heaped } from './heap.js';
import type { RequestOrder } from './backend.js';

/** Of a request without options. */
export const NO_ORDER: RequestOrder = { priority: 0, weight: 1, group: '' };

/** What a request waits with, as far as it decides when it is granted. */
export interface Standing {
  readonly arrival: number;
  readonly permits: number;
  readonly order: RequestOrder;
  /** Of the first of its flow: its tag; undefined where all come in the order of arrival. */
  readonly tag: number | undefined;
  /** It asks for more than the limit, and waits aside. */
  readonly parked: boolean;
  /** Its client is alive. */
  readonly living: boolean;
}

/** By how much a request comes after virtual time. */
export function costOf(permits: number, { weight }: RequestOrder): number {
  return Math.floor((permits * 1_000_000) / weight);
}

/**
 * Requests of one flow take turns with those of others; within it they come in order of arrival.
 */
export function flowOf({ priority, group }: RequestOrder): string {
  return `${priority} ${group}`;
}

/**
 * Those who live, in the order in which they will be granted; at the end those that ask for more
 * than the limit. `timeOf`: the virtual time of a priority.
 */
export function inOrderOfGrants<S extends Standing>(
  all: readonly S[],
  timeOf?: (priority: number) => number,
): S[] {
  const byArrival = all.toSorted((one, other) => one.arrival - other.arrival);
  const granted: S[] = [];
  for (let priority = 9; priority >= 0; priority -= 1) {
    const own = byArrival.filter(({ order, parked }) => order.priority === priority && !parked);
    granted.push(...grantsOf(own, timeOf?.(priority) ?? 0));
  }
  return [...granted, ...byArrival.filter(({ parked }) => parked)].filter(({ living }) => living);
}

interface Flow<S extends Standing> extends Heaped {
  readonly waiting: S[];
  next: number;
  tag: number;
}

/** Requests of one priority as they leave the queue, the dead among them. */
function grantsOf<S extends Standing>(byArrival: readonly S[], time: number): S[] {
  const flows = new Map<string, Flow<S>>();
  for (const one of byArrival) {
    const flow = flows.get(flowOf(one.order));
    if (flow !== undefined) flow.waiting.push(one);
    else {
      const { tag = time + costOf(one.permits, one.order) } = one;
      flows.set(flowOf(one.order), { waiting: [one], next: 0, tag, place: 0 });
    }
  }
  const heads = new Heap<Flow<S>>(
    ({ tag }) => tag,
    ({ waiting, next }) => waiting[next]?.arrival ?? 0,
  );
  for (const flow of flows.values()) heads.add(flow);
  return leavesOf(heads, time);
}

function leavesOf<S extends Standing>(heads: Heap<Flow<S>>, from: number): S[] {
  const left: S[] = [];
  let time = from;
  for (let flow = heads.lowest; flow !== undefined; flow = heads.lowest) {
    const first = flow.waiting[flow.next];
    const follower = flow.waiting[flow.next + 1];
    if (first !== undefined) left.push(first);
    if (first?.living === true) time = Math.max(time, flow.tag);
    if (first === undefined || follower === undefined) {
      heads.remove(flow);
      continue;
    }
    const start = first.living ? time : flow.tag - costOf(first.permits, first.order);
    flow.tag = start + costOf(follower.permits, follower.order);
    flow.next += 1;
    heads.moved(flow);
  }
  return left;
}
