import type * as port from '../backend.js';
import { microseconds } from '../gcra.js';
import { RATE_LIFE_MS, WAITER_LEASE_MS } from '../protocol.js';
import { close, nearest } from './close.js';
import { headOf, join, PLAIN, requestOf, endPlainOrder, useCap, type Waiting } from './order.js';
import { progressOf } from './queue-position.js';
import { hasRoom } from './caps.js';
import { nameMeters } from './rate.js';
import {
  isLate,
  nextNumber,
  open,
  renew,
  type Said,
  type Semaphore,
  type Ticket,
} from './semaphore.js';
import { fits, grant, isAlive, leave, serve } from './serve.js';
import { slotsOf } from './free-slots.js';

type Asked = port.TicketRequest;

/** Puts a request into the queue. */
function enqueue(s: Semaphore, r: Waiting): void {
  s.keys.requests.set(r.id, r);
  s.waiting += 1;
  join(s, r);
}

/**
 * Drops leases that are over, and renews the client's, if it still has a lease or `isSure`. A
 * caller with a bound drops dead clients' requests as well, to count the others.
 */
function renewLease(s: Semaphore, isSure: boolean): void {
  const { clients } = s.keys;
  s.arriving = undefined;
  for (const [client, until] of clients) {
    if (until > s.now) continue;
    clients.delete(client);
    s.isUnswept = true;
  }
  const [known, until] = [clients.get(s.client), s.now + WAITER_LEASE_MS];
  if ((isSure || known !== undefined) && (known ?? 0) < until) clients.set(s.client, until);
  if (!s.isUnswept || s.asked?.maxWaiting === undefined) return;
  s.isUnswept = false;
  for (const r of s.keys.requests.values()) if (!isAlive(s, r)) leave(s, r);
}

/** A request that was dropped (claim or lease over after a stall) returns to its old turn. */
function recall(s: Semaphore, call: port.AcquireCall): void {
  const { tickets, requests } = s.keys;
  let isKnown = false;
  for (const asked of call.requests) {
    const { id, arrival } = asked;
    if (arrival !== undefined && !tickets.has(id) && !requests.has(id)) {
      // Data may have been lost while the clock was behind: new requests must come behind it.
      s.server.last = Math.max(s.server.last, arrival);
      enqueue(s, requestOf(asked, call, arrival));
    }
    isKnown ||= s.waiting > 0 && requests.has(id);
  }
  s.recalled = isKnown;
  if (isKnown) renewLease(s, true);
}

/**
 * Whether the queue is full once the requests of dead clients are gone. Requests that the caller
 * left long ago count as dead, too, unless it asks for them again.
 */
function isFull(s: Semaphore, { maxWaiting = Infinity }: port.AcquireCall): boolean {
  if (s.waiting >= maxWaiting) renewLease(s, s.arrived);
  return s.waiting >= maxWaiting;
}

/** The verdict on a request. If a queue waits, a new request joins it to find its turn. */
function answer(s: Semaphore, asked: Asked, call: port.AcquireCall): port.AcquireVerdict {
  const { id, permits } = asked;
  const { tickets, requests } = s.keys;
  const ticket = tickets.get(id);
  if (ticket !== undefined) return granted(renew(s, ticket, call.ttl));
  const known = s.waiting > 0 ? requests.get(id) : undefined;
  if (known !== undefined) return { kind: 'queued', arrival: known.arrival };
  const most = Math.min(s.limit, s.cap?.permits ?? Infinity);
  if (permits > most && most > 0) return { kind: 'over', limit: most };
  const canTake = fits(s, asked) && hasRoom(s, asked);
  if (canTake && s.waiting === 0) return granted(grant(s, asked, call));
  const stays = asked.wait && !isFull(s, call);
  const refusal: port.AcquireVerdict = asked.wait
    ? { kind: 'full', waiting: s.waiting }
    : { kind: 'busy' };
  if (!canTake && !stays) return refusal;
  const r = requestOf(asked, call, nextNumber(s));
  s.arriving = s.client;
  enqueue(s, r);
  serve(s);
  const taken = tickets.get(id);
  if (taken !== undefined) return granted(taken);
  if (!stays) {
    leave(s, r);
    return refusal;
  }
  s.arrived = true;
  return { kind: 'queued', arrival: r.arrival };
}

function granted({ fencingToken, ranges }: Ticket): port.GrantedVerdict {
  return { kind: 'granted', fencingToken, slots: slotsOf(ranges) };
}

/**
 * Whether its request has a ticket already, or a permit is free for it once expired tickets and the
 * requests of dead clients are gone. Grants nothing.
 */
export function isFree(s: Semaphore, call: port.AcquireCall, now: number): boolean {
  open(s, call, now);
  if (call.requests.every(({ id }) => s.keys.tickets.has(id))) return true;
  s.isTrial = true;
  // Requests without a group may wait for permits of theirs, and are not overtaken.
  const isNext = serve(s) === undefined && headOf(s, PLAIN) === undefined;
  s.isTrial = false;
  s.turn = s.head = undefined;
  close(s);
  const free = (asked: Asked) => isNext && fits(s, asked) && hasRoom(s, asked);
  return call.requests.every(free);
}

/** The caller's cap counts unless a cap is stored. */
function nameCap(s: Semaphore, permits: number): void {
  const { cap, hasNoCap, time } = s;
  const { until = Infinity } = cap ?? { until: 0 };
  if (hasNoCap || until === Infinity) return;
  const life = microseconds(RATE_LIFE_MS);
  const isFresh = cap?.permits === permits && until - time >= life / 2;
  useCap(s, { permits, until: isFresh ? until : time + life });
}

export function acquire(s: Semaphore, call: port.AcquireCall): Said<port.AcquireReply> {
  const { requests, rate, budgets, groupLimit } = call;
  if (isLate(s, call)) {
    const verdicts = requests.map((): port.AcquireVerdict => ({ kind: 'late' }));
    return { verdicts, askAgainAt: undefined };
  }
  nameMeters(s, rate, budgets);
  if (groupLimit !== undefined) nameCap(s, groupLimit);
  s.asked = call;
  recall(s, call);
  serve(s);
  const verdicts = requests.map((asked) => answer(s, asked, call));
  let waits: Waiting | undefined;
  for (const [i, { id, asksProgress }] of s.waiting > 0 ? requests.entries() : []) {
    const r = s.keys.requests.get(id);
    if (r === undefined) continue;
    const { arrival } = r;
    if (arrival < (waits?.arrival ?? Infinity)) waits = r;
    if (asksProgress) verdicts[i] = { kind: 'queued', arrival, progress: progressOf(s, r) };
  }
  s.arriving = undefined;
  if (s.arrived) renewLease(s, true);
  endPlainOrder(s);
  return waits === undefined
    ? { verdicts, askAgainAt: undefined }
    : { verdicts, ...nearest(s, waits) };
}
