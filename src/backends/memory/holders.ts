import type * as port from '../backend.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import { close } from './close.js';
import { isLate } from './requests.js';
import { remember, remembered } from './rules.js';
import type { Semaphore } from './semaphore.js';
import { add, drop, open, renew } from './semaphore.js';
import { leave, serve } from './serve.js';
import { slotsOf } from './slots.js';

export function giveBack(s: Semaphore, call: port.ReleaseCall, now: number): port.ReleaseReply {
  open(s, call, now);
  const released = call.ids.map((id) => drop(s, id));
  for (const id of s.waiting > 0 ? call.ids : []) {
    const r = s.keys.requests.get(id);
    if (r !== undefined) leave(s, r);
  }
  serve(s);
  return { ...close(s), released };
}

export function renewEach(s: Semaphore, call: port.ExtendCall, now: number): port.ExtendReply {
  open(s, call, now);
  const { ids, ttl, fencingTokens } = call;
  const revoked: string[] = [];
  const extended = ids.map((id, i) => {
    const ticket = s.keys.tickets.get(id);
    const isSame =
      ticket !== undefined && ticket.fencingToken === (fencingTokens?.[i] ?? ticket.fencingToken);
    if (isSame) renew(s, ticket, ttl);
    else if (remembered(s.revoked, id, now) === true) revoked.push(id);
    return isSame;
  });
  serve(s);
  return { ...close(s), extended, ...(revoked.length > 0 && { revoked }) };
}

/** The ticket that has one of these ids, or to which the last of them led, by whatever adoption. */
function find({ keys: { tickets, adopted } }: Semaphore, newId: string, id: string) {
  const origin = firstId(id);
  return tickets.get(newId) ?? tickets.get(id) ?? tickets.get(adopted.get(origin) ?? origin);
}

export function adopt(s: Semaphore, call: port.AdoptCall, now: number): port.AdoptReply {
  open(s, call, now);
  const { id, newId, ttl, label } = call;
  const late = isLate(call, now);
  const found = late ? undefined : find(s, newId, id);
  if (found === undefined) {
    serve(s);
    return { ...close(s), ticket: undefined, late };
  }
  let ticket = found;
  // A call that runs again finds what it did the first time.
  if (found.id === newId) renew(s, found, ttl);
  else {
    s.keys.tickets.delete(found.id);
    s.keys.expiries.remove(found);
    s.keys.adopted.set(firstId(newId), newId);
    ticket = add(s, newId, found.ranges, label, ttl);
    tellEnded(s, found.id, 'missing');
  }
  serve(s);
  const { ranges, fencingToken } = ticket;
  return { ...close(s), ticket: { slots: slotsOf(ranges), fencingToken, before: found.id } };
}

export function revoke(s: Semaphore, call: port.RevokeCall, now: number): port.RevokeReply {
  open(s, call, now);
  const { id } = call;
  const ticket = s.keys.tickets.get(id);
  if (ticket !== undefined) {
    drop(s, id);
    s.revoked = remember(s, s.revoked, id, true, ticket.expiresAt);
    tellEnded(s, id, 'revoked');
  }
  serve(s);
  return { ...close(s), revoked: remembered(s.revoked, id, now) === true };
}

function tellEnded({ server, key }: Semaphore, id: string, reason: 'missing' | 'revoked'): void {
  const client = parseTicketId(id)?.client ?? '';
  server.inboxes.tell(key, client, (to) => to.onEnded?.([{ id, reason }], key.name));
}
