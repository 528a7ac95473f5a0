import { CLAIM_TIME_MS } from '../protocol.js';
import { NO_ORDER } from '../request-order.js';
import { countGroup, first, isOrdered, join, leave, type Waiting, type Wanted } from './order.js';
import { charge, payTime } from './rate.js';
import { nextNumber, type Semaphore, type Ticket } from './semaphore.js';

/** With its lease all requests of a client count. */
export function isAlive({ arriving, keys, now }: Semaphore, { call }: Waiting): boolean {
  return call.client === arriving || (keys.clients.get(call.client) ?? -Infinity) > now;
}

/** The condition of every grant, besides its turn. */
export function fits(s: Semaphore, r: Wanted): boolean {
  return s.keys.slots.held + r.permits <= s.limit && payTime(s, r) <= s.time;
}

/** Gives a ticket on the lowest free slots. */
export function grant(s: Semaphore, r: Wanted, label: string, ttl: number): Ticket {
  const { tickets, expiries } = s.keys;
  const { id, permits, order: { group } = NO_ORDER } = r;
  const charged = charge(s, r);
  countGroup(s, group, permits);
  const [slots, fencingToken] = [s.keys.slots.take(permits), nextNumber(s)];
  const expiresAt = s.now + ttl;
  const ticket = { id, slots, label, fencingToken, expiresAt, group, charged, index: 0 };
  tickets.set(id, ticket);
  expiries.add(ticket);
  s.lastUse = Math.max(s.lastUse, expiresAt);
  return ticket;
}

/** Grants a request that waits. A ticket that its client does not claim within 5 s comes back. */
function give(s: Semaphore, r: Waiting): void {
  const { client, label, ttl } = r.call;
  const isOwn = r.call === s.asked;
  s.served += 1;
  const ticket = grant(s, r, label, isOwn ? ttl : Math.min(ttl, CLAIM_TIME_MS));
  if (isOwn) return;
  const { id, fencingToken, slots, expiresAt } = ticket;
  const granted = { id, fencingToken, slots: [...slots], expiresAt };
  if (client === s.client && s.grants.length === 0) s.grants = [granted];
  else if (client === s.client) s.grants.push(granted);
  else s.server.tell(client, (to) => to.onGrants([granted], s.key.name));
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
    s.moved = true;
    join(s, r);
  }
}

/**
 * Grants from the head of the queue for as long as permits last. In a trial it grants nothing.
 * @returns the first that does not fit
 */
export function serve(s: Semaphore, isTrial = false): Waiting | undefined {
  s.turn = undefined;
  if (s.waiting > 0) unpark(s);
  while (s.waiting > 0 && s.keys.slots.held < s.limit) {
    const r = first(s);
    if (r === undefined) return undefined;
    const isLiving = isAlive(s, r);
    if (isLiving && r.permits > s.limit) {
      leave(s, r);
      s.keys.requests.set(r.id, r);
      s.keys.parked.add(r);
    } else if (isLiving && (isTrial || !fits(s, r))) {
      s.turn = s.keys.slots.held + r.permits <= s.limit ? r : undefined;
      return r;
    } else {
      // In an order of arrival, a client reckons with the grants before its own.
      s.moved ||= !isLiving || isOrdered(s);
      if (isLiving) give(s, r);
      leave(s, r, isLiving);
    }
  }
  // Under a rate or budgets the head is looked for in any case: before positions are reported.
  if (s.waiting > 0 && s.meters.length > 0) first(s);
  return undefined;
}
