import { CLAIM_TIME_MS } from '../protocol.js';
import { NO_ORDER } from '../request-order.js';
import {
  byArrival,
  countGroup,
  first,
  hasRoom,
  lead,
  leaveFlow,
  rejoinAll,
  type Waiting,
  type Wanted,
} from './order.js';
import { charge, payTime } from './rate.js';
import { nextNumber, type Semaphore, type Ticket } from './semaphore.js';

/** With its lease all requests of a client count. */
export function isAlive({ arriving, keys, now }: Semaphore, { call }: Waiting): boolean {
  return call.client === arriving || (keys.clients.get(call.client) ?? -Infinity) > now;
}

export function leaveQueue(s: Semaphore, r: Waiting, isGranted = false): void {
  s.keys.requests.delete(r.id);
  s.moved = true;
  leaveFlow(s, r, isGranted);
}

/**
 * If leases are over, drops the requests of dead clients, so that the others can be counted. The
 * requests that a caller left long ago are dead, too, unless it asks for them again.
 */
function sweep(s: Semaphore): void {
  const { clients } = s.keys;
  const over = [...clients].filter(([, until]) => until <= s.now);
  for (const [client] of over) clients.delete(client);
  if (over.length === 0) return;
  for (const r of byArrival(s)) if (!isAlive(s, r)) leaveQueue(s, r);
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
  const ticket = grant(s, r, label, isOwn ? ttl : Math.min(ttl, CLAIM_TIME_MS));
  if (isOwn) return;
  const { id, fencingToken, slots, expiresAt } = ticket;
  const granted = { id, fencingToken, slots: [...slots], expiresAt };
  if (client === s.client) s.grants.push(granted);
  else s.server.tell(client, (to) => to.onGrants([granted], s.key.name));
}

/**
 * Grants from the head of the queue for as long as permits last. `s.turn`: the first that does not
 * fit, if the rate alone holds it back.
 */
export function serve(s: Semaphore): void {
  s.turn = undefined;
  const { keys, asked, waiting } = s;
  // Without a turn, at which it could be dropped, a request waits aside, or at the cap of its
  // group.
  const isUnseen =
    Math.min(keys.parks, s.cap) < Infinity || waiting >= (asked?.maxWaiting ?? Infinity);
  if (waiting > 0 && isUnseen) sweep(s);
  if (s.waiting > 0 && keys.parks <= s.limit) rejoinAll(s);
  while (s.waiting > 0 && keys.slots.held < s.limit) {
    const r = first(s);
    if (r === undefined) return;
    const isLiving = isAlive(s, r);
    if (r.flow !== undefined && !hasRoom(s, r)) {
      // The cap has shrunk, or a grant of another priority has filled the group.
      lead(s, r.flow);
    } else if (isLiving && r.permits > s.limit) {
      // It waits aside, in no flow, until the limit has grown.
      leaveFlow(s, r);
      keys.parks = Math.min(keys.parks, r.permits);
    } else if (isLiving && !fits(s, r)) {
      s.turn = keys.slots.held + r.permits <= s.limit ? r : undefined;
      return;
    } else {
      if (isLiving) give(s, r);
      leaveQueue(s, r, isLiving);
    }
  }
}
