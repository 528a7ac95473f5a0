import type { PushedGrant, Reply } from '../backend.js';
import { isOrdered, settleOrder, type Waiting } from './order.js';
import { settlePace } from './progress.js';
import { payTime } from './rate.js';
import { NOTHING, type Semaphore } from './semaphore.js';

/** Notifies other clients of their grants; those of the caller go with the reply. */
function publish({ key, server, client, grants }: Semaphore): readonly PushedGrant[] {
  if (grants === undefined) return [];
  for (const [other, list] of grants) {
    if (other !== client) server.inboxes.tell(key, other, (to) => to.onGrants(list, key.name));
  }
  return grants.get(client) ?? [];
}

/**
 * When the rate allows a request of the caller, where it holds it back now. By arrival each of
 * those before it takes a permit at least. In an order others may still come before it: only the
 * head has a time, and the next one hears of it when it is the head.
 */
function turnByRate(s: Semaphore, waits: Waiting): number {
  const r = isOrdered(s) ? s.turn : waits;
  if (r?.client !== s.client || payTime(s, r) <= s.time) return Infinity;
  const { requests } = s.keys;
  const before = isOrdered(s) ? [] : [...requests.values()].filter((o) => o.arrival < r.arrival);
  return Math.ceil(payTime(s, r, before.length)) / 1000;
}

/** When the caller should ask again. `waits`: the first of its requests that does. */
export function nearest(s: Semaphore, waits: Waiting): number | undefined {
  const { expiresAt = Infinity } = s.keys.expiries.lowest ?? {};
  const time = Math.min(expiresAt, turnByRate(s, waits));
  return time < Infinity ? time : undefined;
}

/** The first request, which the rate alone holds back, may know of a later time, or of none. */
function tellTurn({ server, key }: Semaphore, { client, id }: Waiting, time: number): void {
  const turn = { id, at: Math.ceil(time) / 1000 };
  server.inboxes.tell(key, client, (to) => to.onTurn?.(turn, key.name));
}

/** What every reply says. */
export function close(s: Semaphore): Reply {
  settleOrder(s);
  settlePace(s);
  // A call that finds nothing and leaves nothing is not remembered.
  if (s.configured !== 0 || s.isBusy) s.configured = s.own;
  if (s.waiting === 0 && s.keys.clients.size > 0) s.keys.clients.clear();
  const grants = publish(s);
  const { turn, asked, moved, client } = s;
  const isNews = asked === undefined || (moved && turn?.client !== client);
  if (turn !== undefined && isNews) tellTurn(s, turn, payTime(s, turn));
  const reply = { serverTime: s.now, grants };
  return s.told === NOTHING ? reply : { ...reply, ...s.told };
}
