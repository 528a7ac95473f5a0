import type { AcquireCall, RequestOrder, TicketRequest } from '../backend.js';
import { Heap, type Heaped } from '../heap.js';
import { costOf, flowOf, NO_ORDER } from '../request-order.js';
import type { Semaphore } from './semaphore.js';

/** A request, as far as its ticket is concerned. */
export type Wanted = Pick<TicketRequest, 'id' | 'permits' | 'order' | 'cost'>;

/** A request that waits. */
export interface Waiting extends Heaped, Wanted {
  /** The last call that asked for it. */
  call: AcquireCall;
  /** When it came, which decides between requests of a flow: lower numbers come first. */
  readonly arrival: number;
  readonly order: RequestOrder;
  /** Undefined: it asks for more than the limit, and waits aside. */
  flow: Flow | undefined;
}

/** The requests of one priority and one group, by arrival; the first is the head. */
export interface Flow extends Heaped {
  readonly name: string;
  readonly priority: number;
  readonly waiting: Heap<Waiting>;
  /** Virtual time when it got its head; undefined while its group is at the cap. */
  start: number | undefined;
}

/** The flow of requests without options. */
export const PLAIN: string = flowOf(NO_ORDER);

/** Of its head. */
export function tagOf({ start, waiting: { lowest: head } }: Flow): number | undefined {
  return start === undefined || head === undefined ? undefined : start + costOf(head);
}

const headArrival = ({ waiting }: Flow): number => waiting.lowest?.arrival ?? 0;

function newFlow(name: string, priority: number): Flow {
  const waiting = new Heap<Waiting>((one, other) => one.arrival < other.arrival);
  return { name, priority, waiting, start: undefined, index: 0 };
}

/** Which of two heads comes first. */
export function isBefore(one: Flow, other: Flow): boolean {
  if (one.priority !== other.priority) return one.priority > other.priority;
  const [a = Infinity, b = Infinity] = [tagOf(one), tagOf(other)];
  return a < b || (a === b && headArrival(one) < headArrival(other));
}

export function requestOf(asked: TicketRequest, call: AcquireCall, arrival: number): Waiting {
  const { id, permits, order = NO_ORDER, cost } = asked;
  return { id, permits, cost, call, arrival, order, flow: undefined, index: 0 };
}

/** Whether the group may hold as many more. */
export function hasRoom({ cap, keys }: Semaphore, { permits, order = NO_ORDER }: Wanted): boolean {
  return cap === Infinity || (keys.groups.get(order.group) ?? 0) + permits <= cap;
}

/** A group holds more permits, or fewer. */
export function countGroup({ cap, keys }: Semaphore, group: string, permits: number): void {
  if (cap === Infinity) return;
  const held = (keys.groups.get(group) ?? 0) + permits;
  if (held > 0) keys.groups.set(group, held);
  else keys.groups.delete(group);
}

/** The virtual time of a priority: the tag of its last grant. */
export function timeOf({ keys }: Semaphore, priority: number): number {
  return keys.times[priority] ?? 0;
}

/** The first request of a flow becomes its head, if its group has room for it. */
export function lead(s: Semaphore, flow: Flow, start: number = timeOf(s, flow.priority)): void {
  const { lowest: head } = flow.waiting;
  if (flow.start !== undefined) s.keys.heads.remove(flow);
  flow.start = head !== undefined && hasRoom(s, head) ? start : undefined;
  if (flow.start !== undefined) s.keys.heads.add(flow);
}

/** Permits of the group came back. */
export function freeGroup(s: Semaphore, group: string, permits: number): void {
  if (s.cap === Infinity) return;
  countGroup(s, group, -permits);
  for (let priority = 0; priority <= 9; priority += 1) {
    const flow = s.keys.flows.get(flowOf({ priority, group, weight: 1 }));
    if (flow !== undefined && flow.start === undefined) lead(s, flow);
  }
}

/** A request joins its flow: before the head, if it was dropped and came earlier. */
export function join(s: Semaphore, r: Waiting): void {
  const [name, { priority }] = [flowOf(r.order), r.order];
  const flow = s.keys.flows.get(name) ?? newFlow(name, priority);
  s.keys.requests.set(r.id, r);
  s.keys.flows.set(name, flow);
  if (r.flow === undefined) flow.waiting.add(r);
  r.flow = flow;
  if (r === flow.waiting.lowest) lead(s, flow, flow.start);
}

/** The requests that wait. A request that was dropped is not where it was in `requests`. */
export function byArrival({ keys }: Semaphore): Waiting[] {
  return [...keys.requests.values()].toSorted((one, other) => one.arrival - other.arrival);
}

/** All requests join their flows, of whatever rule kept them from it until now. */
export function rejoinAll(s: Semaphore): void {
  s.keys.parks = Infinity;
  for (const r of byArrival(s)) join(s, r);
}

/** The cap that counts from here on. */
export function useCap(s: Semaphore, cap: number, until: number): void {
  const { cap: before, keys } = s;
  s.cap = cap;
  s.capUntil = until;
  if (before === Infinity) {
    keys.groups.clear();
    for (const { group, slots } of keys.tickets.values()) countGroup(s, group, slots.length);
  }
  if (before === Infinity || cap > before) rejoinAll(s);
}

/** A request leaves its flow, if it is in it, as its head or not. */
export function leaveFlow(s: Semaphore, r: Waiting, isGranted = false): void {
  const { flow } = r;
  if (flow === undefined) return;
  const { start = 0, priority, waiting } = flow;
  const isHead = r === waiting.lowest;
  r.flow = undefined;
  waiting.remove(r);
  if (!isHead) return;
  if (isGranted) s.keys.times[priority] = Math.max(timeOf(s, priority), start + costOf(r));
  // The next of its flow takes over its start: a request that leaves, leaves no hole.
  lead(s, flow, isGranted ? undefined : flow.start);
  if (waiting.lowest === undefined) s.keys.flows.delete(flow.name);
}

/** The next request. */
export function first({ keys }: Semaphore): Waiting | undefined {
  return keys.heads.lowest?.waiting.lowest;
}
