import { CLAIM_TIME_MS } from '../protocol.js';
import { NO_ORDER } from '../request-order.js';
import { first, isOrdered, join, leaveFlow, type Waiting, type Wanted } from './order.js';
import { countGroup } from './caps.js';
import { charge, payTime } from './rate.js';
import { add, type Semaphore, type Terms, type Ticket } from './semaphore.js';
import { slotsOf } from './free-slots.js';

/** With its lease all requests of a client count. */
export function isAlive(s: Semaphore, { client }: Waiting, now: number = s.now): boolean {
  return client === s.arriving || (s.keys.clients.get(client) ?? -Infinity) > now;
}

export function leave(s: Semaphore, r: Waiting, isGranted = false): void {
  s.keys.requests.delete(r.id);
  s.waiting -= 1;
  if (r.isParked) s.keys.parked.remove(r);
  else leaveFlow(s, r, isGranted);
}

/** The condition of every grant, besides its turn. */
export function fits(s: Semaphore, r: Wanted): boolean {
  return !s.isTrial && s.keys.slots.held + r.permits <= s.limit && payTime(s, r) <= s.time;
}

/** Gives a ticket on the lowest free slots. */
export function grant(s: Semaphore, r: Wanted, terms: Terms): Ticket {
  const { id, permits, order = NO_ORDER } = r;
  const { slots } = s.keys;
  const held = slots.held + permits;
  const [{ group }, charged] = [order, charge(s, r)];
  countGroup(s, group, permits);
  const ranges = slots.take(permits);
  while (slots.held < held) ranges.push(...slots.take(held - slots.held));
  return add(s, { id, ranges, group, charged }, terms);
}

/** Grants a request that waits. A ticket that its client does not claim within 5 s comes back. */
function give(s: Semaphore, r: Waiting): void {
  s.served += 1;
  s.ids ??= new Set(s.asked?.requests.map(({ id }) => id));
  const own = s.ids.has(r.id) ? s.asked : undefined;
  const ticket = grant(s, r, own ?? { label: r.label, ttl: Math.min(r.ttl, CLAIM_TIME_MS) });
  if (own !== undefined) return;
  const { id, fencingToken, ranges, expiresAt } = ticket;
  s.grants ??= new Map();
  const grants = s.grants.get(r.client) ?? [];
  grants.push({ id, fencingToken, slots: slotsOf(ranges), expiresAt });
  s.grants.set(r.client, grants);
}

function park(s: Semaphore, r: Waiting): void {
  leaveFlow(s, r);
  r.isParked = true;
  s.keys.parked.add(r);
}

/**
 * Requests for more than the limit come back once the limit has grown, the smallest first. A
 * request of a dead client leaves at its turn.
 */
function unpark(s: Semaphore): void {
  const { parked } = s.keys;
  for (let r = parked.lowest; r !== undefined; r = parked.lowest) {
    if (r.permits > s.limit && isAlive(s, r)) return;
    parked.remove(r);
    r.isParked = false;
    s.moved = true;
    join(s, r);
  }
}

function isMetered({ rate, budgets }: Semaphore): boolean {
  return rate !== undefined || budgets !== undefined;
}

/**
 * Grants from the head of the queue for as long as permits last.
 * @returns the first that does not fit
 */
export function serve(s: Semaphore): Waiting | undefined {
  s.turn = s.head = undefined;
  if (s.waiting > 0) unpark(s);
  while (s.waiting > 0 && s.keys.slots.held < s.limit) {
    const r = first(s);
    if (r === undefined) return undefined;
    if (!isAlive(s, r)) {
      s.moved = true;
      leave(s, r);
    } else if (r.permits > s.limit) {
      park(s, r);
    } else if (!fits(s, r)) {
      s.turn = s.keys.slots.held + r.permits <= s.limit ? r : undefined;
      s.head = isMetered(s) ? r : undefined;
      return r;
    } else {
      s.moved ||= isOrdered(s);
      give(s, r);
      leave(s, r, true);
    }
  }
  if (s.waiting > 0 && isMetered(s)) s.head = first(s);
  return undefined;
}
