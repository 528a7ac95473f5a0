import type { PushedGrant, Reply } from '../backend.js';
import type { Waiting } from './order.js';
import { isOrdered, settleOrder } from './order.js';
import { settlePace } from './progress.js';
import { rateTime } from './rate.js';
import type { Semaphore } from './semaphore.js';

/** Notifies other clients of their grants; those of the caller go with the reply. */
function publish({ key, server, client, grants = new Map() }: Semaphore): readonly PushedGrant[] {
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
function turnByRate(s: Semaphore, waits: Waiting): number | undefined {
  const ordered = isOrdered(s);
  const r = ordered ? s.turn : waits;
  if (r?.client !== s.client || rateTime(s, r.permits) <= s.time) return undefined;
  const { requests } = s.keys;
  let ahead = 0;
  for (const { arrival } of ordered ? [] : requests.values()) if (arrival < r.arrival) ahead += 1;
  return Math.ceil(rateTime(s, r.permits, ahead)) / 1000;
}

/** When the caller should ask again. `waits`: the first of its requests that does. */
export function nearest(s: Semaphore, waits: Waiting): number | undefined {
  const time = Math.min(
    s.keys.expiries.lowest?.expiresAt ?? Infinity,
    turnByRate(s, waits) ?? Infinity,
  );
  return time < Infinity ? time : undefined;
}

/** The first request, which the rate alone holds back, may know of a later time, or of none. */
function tellTurn(s: Semaphore, { client, id, permits }: Waiting): void {
  const turn = { id, at: Math.ceil(rateTime(s, permits)) / 1000 };
  s.server.inboxes.tell(s.key, client, (to) => to.onTurn?.(turn, s.key.name));
}

/** What every call ends with, and what every reply says. */
export function close(s: Semaphore): Reply {
  settleOrder(s);
  settlePace(s);
  // A call that finds nothing and leaves nothing is not remembered.
  if (s.configured !== 0 || s.isBusy) s.configured = s.own;
  if (s.waiting === 0) {
    s.keys.clients.clear();
    s.isUnswept = false;
  }
  const grants = publish(s);
  if (s.turn !== undefined && (s.asked === undefined || (s.moved && s.turn.client !== s.client))) {
    tellTurn(s, s.turn);
  }
  return { serverTime: s.now, ...s.told, grants };
}
