import type { AcquireReply, Call, Reply } from '../backend.js';
import { microseconds } from '../gcra.js';
import { AFTER_TURN_MS, WAITER_LEASE_MS } from '../protocol.js';
import { first, isOrdered, type Waiting } from './order.js';
import { settlePace } from './queue-position.js';
import { payTime } from './rate.js';
import { isOver, open, type Semaphore } from './semaphore.js';
import { serve } from './serve.js';

/**
 * When the caller should ask for its first request. By arrival each request before it takes a
 * permit at least. Other requests may still come before it, or their clients have died: the client
 * of the head asks in time, and other clients some time after, if no message has come by then.
 */
function turnOf(s: Semaphore, turn: Waiting, waits: Waiting): number {
  const head = payTime(s, turn);
  if (turn.call.client === s.client) return head;
  const later = head + microseconds(AFTER_TURN_MS);
  if (isOrdered(s)) return later;
  const before = [...s.keys.requests.values()].filter((o) => o.arrival < waits.arrival);
  return Math.min(payTime(s, waits, before.length), later);
}

/**
 * When the caller should ask again: at its turn, if the rate or a budget alone holds the queue
 * back, and its lease lasts until then; else at the expiry of the next ticket. `waits`: the first
 * of its requests that waits.
 */
export function nearest(s: Semaphore, waits: Waiting): Pick<AcquireReply, 'askAgainAt' | 'isTurn'> {
  const { client, keys, turn } = s;
  if (turn === undefined) return { askAgainAt: keys.expiries.lowest?.expiresAt, isTurn: false };
  const askAgainAt = Math.ceil(turnOf(s, turn, waits)) / 1000;
  // A client that asks for a new request alone may sleep for others until later.
  const known = s.recalled ? 0 : (keys.clients.get(client) ?? 0);
  keys.clients.set(client, Math.max(askAgainAt + WAITER_LEASE_MS, known));
  return { askAgainAt, isTurn: true };
}

/**
 * The client of the head may know a later time, or none. Its lease lasts somewhat longer than the
 * time that it knows.
 */
function tellTurn(s: Semaphore, head: Waiting): void {
  const { asked, key, keys, now, server } = s;
  const { client } = head.call;
  const turn = { id: head.id, at: Math.max(Math.ceil(payTime(s, head)) / 1000, now) };
  const isOther = asked === undefined || client !== s.client;
  const lease = isOther ? (keys.clients.get(client) ?? 0) : 0;
  const latest = turn.at + (isOrdered(s) ? AFTER_TURN_MS : 0);
  const isNews = s.turn !== undefined && (asked === undefined || (s.moved && isOther));
  if (!isNews && lease <= latest + WAITER_LEASE_MS) return;
  server.tell(client, (to) => to.onTurn?.(turn, key.name));
}

/** The end of every reply. */
export function close<R extends object>(s: Semaphore, said: R): R & Reply {
  settlePace(s);
  // A call that finds nothing and leaves nothing is not remembered.
  if (s.configured !== 0 || !isOver(s)) s.configured = s.own;
  if (s.waiting === 0 && s.keys.clients.size > 0) {
    s.keys.clients.clear();
    s.keys.times.fill(0);
  }
  const head = s.waiting > 0 && s.meters.length > 0 ? first(s) : undefined;
  if (head !== undefined) tellTurn(s, head);
  // A spread costs more than this.
  return Object.assign(said, { serverTime: s.now, grants: s.grants }, s.notice);
}

/** A reply without the parts that every reply has. */
type Said<R> = Omit<R, keyof Reply>;

export type Whole<C, R> = (s: Semaphore, call: C) => Said<R> & Reply;

/** A call that may change something, of which `act` is the middle. */
export function whole<C extends Call, R>(act: (s: Semaphore, call: C) => Said<R>): Whole<C, R> {
  return (s, call) => {
    open(s, call);
    const said = act(s, call);
    // A call that asks has served the queue before, and with each request.
    if (s.asked === undefined) serve(s);
    return close(s, said);
  };
}
