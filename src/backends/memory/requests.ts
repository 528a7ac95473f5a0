import type * as port from '../backend.js';
import { microseconds } from '../gcra.js';
import { RATE_LIFE_MS } from '../protocol.js';
import { costOf, flowOf, NO_ORDER } from '../request-order.js';
import { close, nearest } from './close.js';
import {
  beginOrder,
  headOf,
  requestOf,
  settleOrder,
  tagOf,
  timeOf,
  useCap,
  type Waiting,
} from './order.js';
import { progressOf } from './progress.js';
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
import { block, enqueue, fits, grant, renewLease, serve } from './serve.js';
import { slotsOf } from './slots.js';

type Asked = port.TicketRequest;

/** A request that was dropped (claim or lease over after a stall) returns to its old place. */
function recall(s: Semaphore, call: port.AcquireCall): void {
  const { tickets, requests } = s.keys;
  let isKnown = false;
  for (const asked of call.requests) {
    const { id, arrival } = asked;
    if (arrival !== undefined && !tickets.has(id) && !requests.has(id)) {
      // Where data was lost while the clock was behind: new requests must come behind it.
      s.server.last = Math.max(s.server.last, arrival);
      enqueue(s, requestOf(asked, call, arrival));
    }
    isKnown ||= s.waiting > 0 && requests.has(id);
  }
  if (isKnown) renewLease(s, true);
  if (s.waiting > 0) s.ids = new Set(call.requests.map(({ id }) => id));
}

/** Whether a newcomer comes before the first that does not fit. */
function isNext(s: Semaphore, asked: Asked): boolean {
  const { blocked, cap } = s;
  const { permits, order = NO_ORDER } = asked;
  if (cap && (!hasRoom(s, asked) || headOf(s, flowOf(order)) !== undefined)) return false;
  if (blocked === undefined) return s.keys.slots.held < s.limit;
  if (headOf(s, flowOf(order)) !== undefined) return false;
  if (order.priority !== blocked.order.priority) return order.priority > blocked.order.priority;
  return timeOf(s, order.priority) + costOf(permits, order) < tagOf(s, blocked);
}

/** It finds its permits free at once. */
function takeNow(s: Semaphore, asked: Asked, call: port.AcquireCall): Ticket {
  const { permits, order = NO_ORDER } = asked;
  if (s.blocked !== undefined || s.cap !== undefined) {
    // It passes the plain flow: virtual time counts from here on.
    if (s.blocked !== undefined && order.priority === 0) beginOrder(s);
    const heads = s.keys.times.get(order.priority);
    if (heads !== undefined) heads.time += costOf(permits, order);
  }
  return grant(s, asked, call);
}

/** Whether as many wait as may. */
function isFull(s: Semaphore, { maxWaiting = Infinity }: port.AcquireCall): boolean {
  if (s.waiting >= maxWaiting) renewLease(s);
  return s.waiting >= maxWaiting;
}

function answer(s: Semaphore, asked: Asked, call: port.AcquireCall): port.AcquireVerdict {
  const { id, permits } = asked;
  const ticket = s.keys.tickets.get(id);
  if (ticket !== undefined) return granted(renew(s, ticket, call.ttl));
  const known = s.waiting > 0 ? s.keys.requests.get(id) : undefined;
  if (known !== undefined) return { kind: 'queued', arrival: known.arrival };
  const most = Math.min(s.limit, s.cap?.permits ?? Infinity);
  if (permits > most && most > 0) return { kind: 'over', limit: most };
  const comesFirst = isNext(s, asked);
  if (comesFirst && fits(s, asked)) return granted(takeNow(s, asked, call));
  if (!asked.wait) return { kind: 'busy' };
  if (isFull(s, call)) return { kind: 'full', waiting: s.waiting };
  const r = requestOf(asked, call, nextNumber(s));
  if (comesFirst) block(s, r);
  enqueue(s, r);
  return { kind: 'queued', arrival: r.arrival };
}

function granted({ fencingToken, ranges }: Ticket): port.GrantedVerdict {
  return { kind: 'granted', fencingToken, slots: slotsOf(ranges) };
}

/**
 * Whether its request has a ticket already or would get one at once, when what has expired and dead
 * clients' requests before it are gone. Grants nothing.
 */
export function isFree(s: Semaphore, call: port.AcquireCall, now: number): boolean {
  open(s, call, now);
  if (call.requests.every(({ id }) => s.keys.tickets.has(id))) return true;
  s.looks = true;
  serve(s);
  s.looks = false;
  s.turn = undefined;
  close(s);
  const free = (asked: Asked) => s.blocked === undefined && isNext(s, asked) && fits(s, asked);
  return call.requests.every(free);
}

/** The caller's cap counts where none is stored. */
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
  if (waits !== undefined) renewLease(s);
  settleOrder(s);
  return { verdicts, askAgainAt: waits && nearest(s, waits) };
}
