import type { AcquireCall, RequestOrder, TicketRequest } from '../backend.js';
import { Heap, type Heaped } from '../heap.js';
import { costOf, flowOf, NO_ORDER } from '../request-order.js';
import { type Cap, countGroup, countGroups, hasRoom } from './caps.js';
import { isPriced } from './rate.js';
import type { Semaphore, Terms } from './semaphore.js';

/** A request, as far as its ticket is concerned. */
export type Wanted = Pick<TicketRequest, 'id' | 'permits' | 'order' | 'cost'>;

/** A request that waits. */
export interface Waiting extends Heaped, Wanted, Terms {
  readonly client: string;
  /** When it came, which decides between requests of a flow: lower numbers come first. */
  readonly arrival: number;
  readonly order: RequestOrder;
  readonly flow: string;
  /** By how much it comes after virtual time. */
  readonly step: number;
  /** It asks for more than the limit, and waits aside. */
  isParked: boolean;
}

/** The requests of one priority and one group, by arrival; the first is the head. */
export interface Flow extends Heaped {
  readonly waiting: Heap<Waiting>;
  /** The tag of its head; undefined in the plain flow while it waits alone. */
  tag: number | undefined;
}

/** The heads of one priority, and its virtual time: the tag of the last grant. */
export interface Heads {
  readonly flows: Heap<Flow>;
  /** Flows without a head, since their groups are at the cap. */
  readonly capped: Set<Flow>;
  time: number;
}

/** The flow of requests without options. */
export const PLAIN: string = flowOf(NO_ORDER);

const arrivalOf = ({ arrival }: Waiting): number => arrival;
const headArrival = ({ waiting }: Flow): number => waiting.lowest?.arrival ?? 0;

/** Which of two heads comes first. */
export function isBefore(one: Flow, other: Flow): boolean {
  const [a = 0, b = 0] = [one.tag, other.tag];
  return a < b || (a === b && headArrival(one) < headArrival(other));
}

export function requestOf(asked: TicketRequest, call: AcquireCall, arrival: number): Waiting {
  const { id, permits, order = NO_ORDER, cost } = asked;
  const { client, ttl, label } = call;
  const [flow, step] = [flowOf(order), costOf(permits, order)];
  const asks = { id, client, permits, cost, arrival, ttl, label };
  return { ...asks, order, flow, step, isParked: false, index: 0 };
}

export function headOf(s: Semaphore, flow: string): Waiting | undefined {
  return s.keys.flows.get(flow)?.waiting.lowest;
}

/** The virtual time of a priority. */
export function timeOf(s: Semaphore, priority: number): number {
  return s.keys.times.get(priority)?.time ?? 0;
}

/** The first request of a flow becomes its head, if its group has room for it. */
function lead(s: Semaphore, flow: Flow, start: number): void {
  const { lowest: head } = flow.waiting;
  if (head === undefined) return;
  const { times } = s.keys;
  const { priority } = head.order;
  let heads = times.get(priority);
  if (heads === undefined) {
    const flows = new Heap<Flow>(({ tag = 0 }) => tag, isBefore);
    heads = { flows, capped: new Set(), time: 0 };
    times.set(priority, heads);
  }
  const isNew = flow.tag === undefined;
  if (!hasRoom(s, head)) {
    if (!isNew) heads.flows.remove(flow);
    flow.tag = undefined;
    heads.capped.add(flow);
    return;
  }
  heads.capped.delete(flow);
  flow.tag = start + head.step;
  if (isNew) heads.flows.add(flow);
  else heads.flows.moved(flow);
}

/** Begins an order beside that of arrival. */
function beginOrder(s: Semaphore): void {
  const plain = s.keys.flows.get(PLAIN);
  if (plain !== undefined && s.keys.times.size === 0) lead(s, plain, 0);
}

/** Permits of the group came back. */
export function freeGroup(s: Semaphore, group: string, permits: number): void {
  if (s.cap === undefined) return;
  countGroup(s, group, -permits);
  for (const [priority, { capped, time }] of s.keys.times) {
    const flow = s.keys.flows.get(flowOf({ priority, group, weight: 1 }));
    if (flow !== undefined && capped.has(flow)) lead(s, flow, time);
  }
}

/** The cap that counts from here on. */
export function useCap(s: Semaphore, cap: Cap | undefined): void {
  const before = s.cap;
  s.cap = cap;
  if (cap !== undefined && before === undefined) {
    countGroups(s);
    beginOrder(s);
  }
  if (before === undefined || (cap?.permits ?? Infinity) <= before.permits) return;
  for (const { capped, time } of s.keys.times.values()) {
    for (const flow of capped) lead(s, flow, time);
  }
}

/** A request joins its flow: before the head, if it was dropped and came earlier. */
export function join(s: Semaphore, r: Waiting): void {
  const { flows, times } = s.keys;
  if (r.flow !== PLAIN || s.cap !== undefined) beginOrder(s);
  const flow = flows.get(r.flow) ?? { waiting: new Heap(arrivalOf), tag: undefined, index: 0 };
  const head = flow.waiting.lowest;
  flow.waiting.add(r);
  flows.set(r.flow, flow);
  if (r.flow === PLAIN && times.size === 0 && s.cap === undefined) return;
  const time = timeOf(s, r.order.priority);
  if (head === undefined) lead(s, flow, time);
  else if (r === flow.waiting.lowest) {
    lead(s, flow, flow.tag === undefined ? time : flow.tag - head.step);
  }
}

/** Leaves its flow, as its head or not. */
export function leaveFlow(s: Semaphore, r: Waiting, isGranted = false): void {
  const { flows, times } = s.keys;
  const flow = flows.get(r.flow);
  if (flow === undefined) return;
  const { tag, waiting } = flow;
  const isHead = r === waiting.lowest;
  waiting.remove(r);
  if (waiting.lowest === undefined) flows.delete(r.flow);
  const heads = times.get(r.order.priority);
  if (heads === undefined || (!heads.capped.has(flow) && (tag === undefined || !isHead))) return;
  const start =
    tag === undefined ? heads.time : isGranted ? Math.max(heads.time, tag) : tag - r.step;
  if (isGranted) heads.time = start;
  if (waiting.lowest !== undefined) return lead(s, flow, start);
  if (tag !== undefined) heads.flows.remove(flow);
  heads.capped.delete(flow);
  if (heads.flows.items.length + heads.capped.size === 0) times.delete(r.order.priority);
}

/** The next request. */
export function first(s: Semaphore): Waiting | undefined {
  const { times } = s.keys;
  for (let priority = 9; priority >= 0 && times.size > 0; priority -= 1) {
    const heads = times.get(priority)?.flows;
    for (let flow = heads?.lowest; flow !== undefined; flow = heads?.lowest) {
      const { lowest } = flow.waiting;
      if (lowest === undefined || hasRoom(s, lowest)) return lowest;
      // Its group is at a cap that has shrunk, or by a grant of another priority.
      lead(s, flow, 0);
    }
  }
  return times.size > 0 ? undefined : headOf(s, PLAIN);
}

/**
 * Ends the order if the plain flow alone waits, at virtual time: the next order would begin alike.
 */
export function endPlainOrder(s: Semaphore): void {
  const { flows, times } = s.keys;
  const [heads, plain, head] = [times.get(0), flows.get(PLAIN), headOf(s, PLAIN)];
  if (heads === undefined || plain === undefined || head === undefined || s.cap) return;
  if (flows.size > 1 || plain.tag !== heads.time + head.step) return;
  plain.tag = undefined;
  times.clear();
}

/** Whether anything beside arrival decides which request is next, or when. */
export function isOrdered(s: Semaphore): boolean {
  return s.keys.parked.items.length + s.keys.times.size > 0 || isPriced(s);
}
