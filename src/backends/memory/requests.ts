import type * as port from '../backend.js';
import { RATE_LIFE_MS, WAITER_LEASE_MS } from '../protocol.js';
import { close, nearest, whole, type Whole } from './close.js';
import { hasRoom, join, requestOf, useCap } from './order.js';
import { positionOf } from './queue-position.js';
import { endOfTerms, nameMeters } from './rate.js';
import { isLate, nextNumber, open, renew, type Semaphore, type Ticket } from './semaphore.js';
import { fits, grant, leaveQueue, serve } from './serve.js';

type Asked = port.TicketRequest;

function renewLease({ client, keys, now }: Semaphore): void {
  keys.clients.set(client, Math.max(now + WAITER_LEASE_MS, keys.clients.get(client) ?? 0));
}

/** A request that was dropped (claim or lease over after a stall) returns to its old turn. */
function recall(s: Semaphore, call: port.AcquireCall): void {
  const { tickets, requests } = s.keys;
  for (const asked of call.requests) {
    const { id, arrival } = asked;
    if (arrival !== undefined && !tickets.has(id) && !requests.has(id)) {
      // Data may have been lost while the clock was behind: new requests must come behind it.
      s.server.last = Math.max(s.server.last, arrival);
      join(s, requestOf(asked, call, arrival));
    }
    const known = s.waiting > 0 ? requests.get(id) : undefined;
    if (known === undefined) continue;
    known.call = call;
    s.recalled = true;
  }
  if (s.recalled) renewLease(s);
}

/** The verdict on a request. If a queue waits, a new request joins it to find its turn. */
function answer(s: Semaphore, asked: Asked, call: port.AcquireCall): port.AcquireVerdict {
  const { id, permits } = asked;
  const { maxWaiting = Infinity } = call;
  const { tickets, requests } = s.keys;
  const ticket = tickets.get(id);
  if (ticket !== undefined) return granted(renew(s, ticket, call.ttl));
  const known = s.waiting > 0 ? requests.get(id) : undefined;
  if (known !== undefined) return { kind: 'queued', arrival: known.arrival };
  const most = Math.min(s.limit, s.cap);
  if (permits > most && most > 0) return { kind: 'over', limit: most };
  const canTake = fits(s, asked) && hasRoom(s, asked);
  if (canTake && s.waiting === 0) return granted(grant(s, asked, call.label, call.ttl));
  const stays = asked.wait && s.waiting < maxWaiting;
  const refusal: port.AcquireVerdict = asked.wait
    ? { kind: 'full', waiting: s.waiting }
    : { kind: 'busy' };
  if (!canTake && !stays) return refusal;
  const r = requestOf(asked, call, nextNumber(s));
  s.arriving = s.client;
  join(s, r);
  serve(s);
  const taken = tickets.get(id);
  if (taken !== undefined) return granted(taken);
  if (!stays) {
    leaveQueue(s, r);
    return refusal;
  }
  s.arrived = true;
  return { kind: 'queued', arrival: r.arrival };
}

function granted({ fencingToken, slots }: Ticket): port.GrantedVerdict {
  return { kind: 'granted', fencingToken, slots: slots.slice() };
}

/**
 * Serves the queue, and gives whether its request has a ticket, or a permit is free for it. The
 * caller, too, hears of grants by messages alone: there may be no reply.
 */
export function isFree(s: Semaphore, call: port.AcquireCall): boolean {
  open(s, call);
  s.client = '';
  serve(s);
  close(s, {});
  return call.requests.every((asked) => {
    return s.keys.tickets.has(asked.id) || (s.waiting === 0 && fits(s, asked) && hasRoom(s, asked));
  });
}

export const acquire: Whole<port.AcquireCall, port.AcquireReply> = whole((s, call) => {
  const { requests, groupLimit: cap } = call;
  if (isLate(s, call)) {
    return { verdicts: requests.map(() => ({ kind: 'late' })), askAgainAt: undefined };
  }
  if (call.rate ?? call.budgets) nameMeters(s, call);
  // The caller's cap counts unless a cap is stored.
  if (cap !== undefined && s.capUntil < Infinity) {
    useCap(s, cap, endOfTerms(s, s.cap === cap, s.capUntil, RATE_LIFE_MS));
  }
  s.asked = call;
  recall(s, call);
  serve(s);
  const verdicts = requests.map((asked) => answer(s, asked, call));
  let waits = false;
  for (const [i, { id, asksProgress }] of s.waiting > 0 || s.moved ? requests.entries() : []) {
    const [r, ticket] = [s.keys.requests.get(id), s.keys.tickets.get(id)];
    // A grant to a later request of the call may have moved the queue on.
    if (ticket !== undefined) verdicts[i] = granted(ticket);
    if (r === undefined) continue;
    waits = true;
    const progress = asksProgress && { position: positionOf(s, r), waiting: s.waiting };
    if (progress) verdicts[i] = { kind: 'queued', arrival: r.arrival, progress };
  }
  s.arriving = undefined;
  if (s.arrived) renewLease(s);
  return { verdicts, askAgainAt: undefined, ...(waits && nearest(s)) };
});
