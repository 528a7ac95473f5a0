import type { AcquireReply, Call, Reply } from '../backend.js';
import { AFTER_TURN_MS, WAITER_LEASE_MS } from '../protocol.js';
import { first, type Waiting } from './order.js';
import { payTime } from './rate.js';
import { isOver, open, type Semaphore } from './semaphore.js';
import { serve } from './serve.js';

/**
 * When the caller should ask again: at its turn, if the rate or a budget alone holds the queue
 * back, and its lease lasts until then; else at the expiry of the next ticket. The client of the
 * head asks when the rate allows the head. Another client hears when its request is the head, and
 * asks some time after the head if it has heard nothing: the head's client may have died. With a
 * cap the earlier of both: if the head leaves, a group at the cap may be left, which no message
 * reaches.
 */
export function nearest(s: Semaphore): Pick<AcquireReply, 'askAgainAt' | 'isTurn'> {
  const { client, keys, turn } = s;
  const expiry = keys.expiries.lowest?.expiresAt;
  if (turn === undefined) return { askAgainAt: expiry, isTurn: false };
  const after = turn.call.client === client ? 0 : AFTER_TURN_MS;
  const ownTurn = Math.ceil(payTime(s, turn)) / 1000 + after;
  const askAgainAt = s.cap < Infinity ? Math.min(ownTurn, expiry ?? Infinity) : ownTurn;
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
  const latest = turn.at + AFTER_TURN_MS;
  const isNews = s.turn !== undefined && (asked === undefined || (s.moved && isOther));
  if (!isNews && lease <= latest + WAITER_LEASE_MS) return;
  server.tell(client, (to) => to.onTurn?.(turn, key.name));
}

/** The end of every reply. */
export function close<R extends object>(s: Semaphore, said: R): R & Reply {
  // A call that finds nothing and leaves nothing is not remembered.
  if (s.configured !== 0 || !isOver(s)) s.configured = s.own;
  if (s.waiting === 0 && (s.keys.clients.size > 0 || s.keys.parks < Infinity)) {
    s.keys.clients.clear();
    s.keys.times.fill(0);
    s.keys.parks = Infinity;
  }
  const head = s.waiting > 0 && s.meters.length > 0 ? first(s) : undefined;
  if (head !== undefined) tellTurn(s, head);
  const notice = s.stored === undefined ? s.other : { storedLimit: s.stored };
  // A spread costs more than this.
  return Object.assign(said, { serverTime: s.now, grants: s.grants }, notice);
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
