import type { AcquireCall, RequestOrder, TicketRequest } from '../backend.js';
import { Heap, type Heaped } from '../heap.js';
import { costOf, flowOf, NO_ORDER } from '../request-order.js';
import type { Semaphore, Terms } from './semaphore.js';

/** A request, as far as its ticket is concerned. */
export type Wanted = Pick<TicketRequest, 'id' | 'permits'>;

/** A request that waits. */
export interface Waiting extends Heaped, Wanted, Terms {
  readonly client: string;
  /** Its place in the queue: lower numbers come first. */
  readonly arrival: number;
  readonly order: RequestOrder;
  readonly flow: string;
  readonly cost: number;
  /** It asks for more than the limit, and waits aside. */
  isParked: boolean;
}

/** What waits with one priority and one group, by arrival; the first is its head. */
export interface Flow extends Heaped {
  readonly waiting: Heap<Waiting>;
  /** That of its head; undefined in the plain flow while it waits alone. */
  tag: number | undefined;
}

/** The heads of one priority, and its virtual time: the tag of the last grant. */
export interface Heads {
  readonly flows: Heap<Flow>;
  time: number;
}

/** The flow of requests without options. */
const PLAIN = flowOf(NO_ORDER);

export const arrivalOf = ({ arrival }: Waiting): number => arrival;
export const headArrival = ({ waiting }: Flow): number => waiting.lowest?.arrival ?? 0;

export function requestOf(asked: TicketRequest, call: AcquireCall, arrival: number): Waiting {
  const { id, permits, order = NO_ORDER } = asked;
  const { client, ttl, label } = call;
  const [flow, cost] = [flowOf(order), costOf(permits, order)];
  return { id, client, permits, arrival, ttl, label, order, flow, cost, isParked: false, place: 0 };
}

function headOf(s: Semaphore, flow: string): Waiting | undefined {
  return s.keys.flows.get(flow)?.waiting.lowest;
}

/** The virtual time of a priority. */
export function timeOf(s: Semaphore, priority: number): number {
  return s.keys.times.get(priority)?.time ?? 0;
}

/** The first of the flow is its head. */
function lead(s: Semaphore, flow: Flow, start: number): void {
  const { lowest: head } = flow.waiting;
  if (head === undefined) return;
  const { times } = s.keys;
  const { priority } = head.order;
  let heads = times.get(priority);
  if (heads === undefined) {
    heads = { flows: new Heap<Flow>(({ tag = 0 }) => tag, headArrival), time: 0 };
    times.set(priority, heads);
  }
  const isNew = flow.tag === undefined;
  flow.tag = start + head.cost;
  if (isNew) heads.flows.add(flow);
  else heads.flows.moved(flow);
}

/** From here on there is an order beside that of arrival. */
function beginOrder(s: Semaphore): void {
  const plain = s.keys.flows.get(PLAIN);
  if (plain !== undefined && s.keys.times.size === 0) lead(s, plain, 0);
}

/** Takes its place in its flow: before the head, where it was dropped and came earlier. */
export function join(s: Semaphore, r: Waiting): void {
  const { flows, times } = s.keys;
  if (r.flow !== PLAIN) beginOrder(s);
  const flow = flows.get(r.flow) ?? { waiting: new Heap(arrivalOf), tag: undefined, place: 0 };
  const head = flow.waiting.lowest;
  flow.waiting.add(r);
  flows.set(r.flow, flow);
  if (r.flow === PLAIN && times.size === 0) return;
  if (head === undefined) lead(s, flow, timeOf(s, r.order.priority));
  else if (r === flow.waiting.lowest) lead(s, flow, (flow.tag ?? 0) - head.cost);
}

/** Leaves its flow, as its head or not. */
export function leaveFlow(s: Semaphore, r: Waiting, isGranted = false): void {
  const { flows, times } = s.keys;
  const flow = flows.get(r.flow);
  if (flow === undefined) return;
  const { tag, waiting } = flow;
  const isHead = r === waiting.lowest;
  waiting.remove(r);
  if (waiting.size === 0) flows.delete(r.flow);
  const heads = times.get(r.order.priority);
  if (heads === undefined || tag === undefined || !isHead) return;
  const start = isGranted ? Math.max(heads.time, tag) : tag - r.cost;
  if (isGranted) heads.time = start;
  if (waiting.size > 0) return lead(s, flow, start);
  heads.flows.remove(flow);
  if (heads.flows.size === 0) times.delete(r.order.priority);
}

/** The next of all. */
export function first(s: Semaphore): Waiting | undefined {
  const { times } = s.keys;
  for (let priority = 9; priority >= 0 && times.size > 0; priority -= 1) {
    const flow = times.get(priority)?.flows.lowest;
    if (flow !== undefined) return flow.waiting.lowest;
  }
  return headOf(s, PLAIN);
}

/**
 * Where the plain flow is the only one, at virtual time, the next order begins as this one ends.
 */
export function settleOrder(s: Semaphore): void {
  const { flows, times } = s.keys;
  const [heads, plain, head] = [times.get(0), flows.get(PLAIN), headOf(s, PLAIN)];
  if (heads === undefined || plain === undefined || head === undefined) return;
  if (times.size > 1 || heads.flows.size > 1 || plain.tag !== heads.time + head.cost) return;
  plain.tag = undefined;
  times.clear();
}

/** Whether anything but arrival may decide. */
export function isOrdered({ keys: { parked, times } }: Semaphore): boolean {
  return parked.size + times.size > 0;
}
