import type { AcquireReply, PushedGrant, Reply } from '../backend.js';
import { microseconds } from '../gcra.js';
import { AFTER_TURN_MS, WAITER_LEASE_MS } from '../protocol.js';
import { isOrdered, endPlainOrder, type Waiting } from './order.js';
import { settlePace } from './queue-position.js';
import { payTime } from './rate.js';
import { NOTHING, type Semaphore } from './semaphore.js';

/** Notifies other clients of their grants; the caller's grants go with the reply. */
function publish({ key, server, client, grants }: Semaphore): readonly PushedGrant[] {
  if (grants === undefined) return [];
  for (const [other, list] of grants) {
    if (other !== client) server.inboxes.tell(key, other, (to) => to.onGrants(list, key.name));
  }
  return grants.get(client) ?? [];
}

/**
 * When the caller should ask for its first request. By arrival each request before it takes a
 * permit at least. Other requests may still come before it, or their clients have died: the client
 * of the head asks in time, and other clients some time after, if no message has come by then.
 */
function turnOf(s: Semaphore, turn: Waiting, waits: Waiting): number {
  const head = payTime(s, turn);
  if (turn.client === s.client) return head;
  const later = head + microseconds(AFTER_TURN_MS);
  if (isOrdered(s)) return later;
  const before = [...s.keys.requests.values()].filter((o) => o.arrival < waits.arrival);
  return Math.min(payTime(s, waits, before.length), later);
}

/**
 * The lease of a client that asks again ends somewhat after its turn. A client that asks for a new
 * request alone may sleep for others until later.
 */
function keepLease({ keys: { clients }, client, recalled }: Semaphore, until: number): void {
  const known = recalled ? 0 : (clients.get(client) ?? 0);
  clients.set(client, Math.max(until, known));
}

/**
 * When the caller should ask again: at its turn, if the rate or a budget alone holds the queue
 * back, and its lease lasts until then; else at the expiry of the next ticket. `waits`: the first
 * of its requests that waits.
 */
export function nearest(s: Semaphore, waits: Waiting): Pick<AcquireReply, 'askAgainAt' | 'isTurn'> {
  if (s.turn === undefined) return { askAgainAt: s.keys.expiries.lowest?.expiresAt, isTurn: false };
  const askAgainAt = Math.ceil(turnOf(s, s.turn, waits)) / 1000;
  keepLease(s, askAgainAt + WAITER_LEASE_MS);
  return { askAgainAt, isTurn: true };
}

/**
 * The client of the head may know a later time, or none. Its lease lasts somewhat longer than the
 * time that it knows.
 */
function tellTurn(s: Semaphore, head: Waiting): void {
  const { server, key, asked, keys } = s;
  const turn = { id: head.id, at: Math.max(Math.ceil(payTime(s, head)) / 1000, s.now) };
  const isOther = asked === undefined || head.client !== s.client;
  const lease = isOther ? (keys.clients.get(head.client) ?? 0) : 0;
  const latest = turn.at + (isOrdered(s) ? AFTER_TURN_MS : 0);
  const isNews = s.turn !== undefined && (asked === undefined || (s.moved && isOther));
  if (!isNews && lease <= latest + WAITER_LEASE_MS) return;
  server.inboxes.tell(key, head.client, (to) => to.onTurn?.(turn, key.name));
}

/** The end of every reply. */
export function close(s: Semaphore): Reply {
  endPlainOrder(s);
  settlePace(s);
  // A call that finds nothing and leaves nothing is not remembered.
  if (s.configured !== 0 || s.isBusy) s.configured = s.own;
  if (s.waiting === 0 && s.keys.clients.size > 0) s.keys.clients.clear();
  const grants = publish(s);
  if (s.head !== undefined) tellTurn(s, s.head);
  const reply = { serverTime: s.now, grants };
  return s.told === NOTHING ? reply : { ...reply, ...s.told };
}
