import type * as port from '../backend.js';
import * as gcra from '../gcra.js';
import { MOST_BUDGETS } from '../protocol.js';
import { waitersOf } from '../request-order.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import { timeOf, useCap } from './order.js';
import { budgetsCounted, RATE, settlePrice, showBudgets, showRate, storeMeter } from './rate.js';
import { add, drop, isLate, purge, renew, toldOf, type Said, type Semaphore } from './semaphore.js';
import { isAlive, leave } from './serve.js';
import { slotsOf } from './free-slots.js';

export function giveBack(s: Semaphore, call: port.ReleaseCall): Said<port.ReleaseReply> {
  const { ids, spent } = call;
  const released = ids.map((id) => {
    const { charged } = s.keys.tickets.get(id) ?? {};
    const isDropped = drop(s, id);
    const costs = spent?.[ids.indexOf(id)];
    if (isDropped && costs !== undefined) settlePrice(s, charged, costs);
    return isDropped;
  });
  for (const id of s.waiting > 0 ? ids : []) {
    const r = s.keys.requests.get(id);
    if (r !== undefined) leave(s, r);
  }
  return { released };
}

export function renewEach(s: Semaphore, call: port.ExtendCall): Said<port.ExtendReply> {
  const revoked: string[] = [];
  const extended = call.ids.map((id, i) => {
    const ticket = s.keys.tickets.get(id);
    const token = call.fencingTokens?.[i] ?? ticket?.fencingToken;
    const isSame = ticket !== undefined && ticket.fencingToken === token;
    if (isSame) renew(s, ticket, call.ttl);
    else if (remembered(s, id) === true) revoked.push(id);
    return isSame;
  });
  return revoked.length > 0 ? { extended, revoked } : { extended };
}

export function adopt(s: Semaphore, call: port.AdoptCall): Said<port.AdoptReply> {
  const { id, newId } = call;
  const { tickets, expiries, adopted } = s.keys;
  const late = isLate(s, call);
  const origin = firstId(id);
  // A second run finds the new id.
  const ids = late ? [] : [newId, id, adopted.get(origin) ?? origin];
  const found = ids.map((one) => tickets.get(one)).find((ticket) => ticket !== undefined);
  if (found === undefined) return { ticket: undefined, late };
  let { fencingToken } = found;
  if (found.id === newId) {
    renew(s, found, call.ttl);
  } else {
    tickets.delete(found.id);
    expiries.remove(found);
    adopted.set(origin, newId);
    ({ fencingToken } = add(s, { ...found, id: newId }, call));
    tellEnded(s, found.id, 'missing');
  }
  return { ticket: { slots: slotsOf(found.ranges), fencingToken, before: found.id } };
}

export function revoke(s: Semaphore, { id }: port.RevokeCall): Said<port.RevokeReply> {
  const ticket = s.keys.tickets.get(id);
  if (ticket !== undefined) {
    drop(s, id);
    remember(s, id, true, ticket.expiresAt);
    tellEnded(s, id, 'revoked');
  }
  return { revoked: remembered(s, id) === true };
}

function tellEnded({ server, key }: Semaphore, id: string, reason: 'missing' | 'revoked'): void {
  const client = parseTicketId(id)?.client ?? '';
  server.inboxes.tell(key, client, (to) => to.onEnded?.([{ id, reason }], key.name));
}

/** For how long a change that is sent again makes nothing new, in milliseconds. */
const CHANGE_LIFE_MS = 60_000;

/** Undefined: no limit is stored. */
function store(s: Semaphore, limit: number | undefined): void {
  s.stored = limit;
  s.told = toldOf(s);
  s.configured ||= s.own;
  s.limit = limit ?? s.configured;
}

export function setLimit(s: Semaphore, call: port.SetLimitCall): Said<port.SetLimitReply> {
  const late = isLate(s, call);
  if (!late) store(s, call.newLimit);
  // An operator may know the stored limit alone: it says nothing of the limit that others are made
  // with.
  s.own = s.configured || s.own;
  return { late };
}

export function addPermits(s: Semaphore, call: port.AddPermitsCall): Said<port.AddPermitsReply> {
  const { delta } = call;
  // A ticket may have the id of a change.
  const id = `change ${call.id}`;
  const [late, made, before] = [isLate(s, call), remembered(s, id), s.limit];
  const limit = typeof made === 'number' ? made : before + delta;
  const refused = limit < 0 || limit > Number.MAX_SAFE_INTEGER;
  if (!late && !refused && made === undefined) {
    store(s, limit);
    remember(s, id, limit, s.now + CHANGE_LIFE_MS);
  }
  s.own = s.configured || s.own;
  if (late) return { limit: undefined, late };
  return refused ? { limit: before, refused } : { limit };
}

export function setRate(s: Semaphore, call: port.SetRateCall): Said<port.SetRateReply> {
  if (isLate(s, call)) return { late: true };
  const { budget = RATE, newRate } = call;
  s.configured = s.own;
  const full = budget === RATE || newRate === undefined ? [] : budgetsCounted(s);
  if (full.length >= MOST_BUDGETS && !full.includes(budget)) return { full };
  storeMeter(s, budget, newRate);
  return {};
}

export function setGroupLimit(s: Semaphore, call: port.SetGroupLimitCall): Said<port.SetRateReply> {
  const late = isLate(s, call);
  const { newGroupLimit: permits } = call;
  if (!late) {
    s.hasNoCap = permits === undefined;
    useCap(s, permits === undefined ? undefined : { permits, until: undefined });
    s.configured = s.own;
  }
  return { late };
}

/** The limit that a change made, or true of a ticket that was revoked. */
function remembered({ memories, now }: Semaphore, id: string): number | true | undefined {
  const [value, until = now] = memories?.get(id) ?? [];
  return until > now ? value : undefined;
}

/** The oldest that count no more are forgotten. */
function remember(s: Semaphore, id: string, value: number | true, until: number): void {
  s.memories ??= new Map();
  for (const [other, [, end]] of s.memories) {
    if (end > s.now) break;
    s.memories.delete(other);
  }
  s.memories.set(id, [value, until]);
  s.remembers = Math.max(s.remembers, until);
}

/** The tickets and requests of a semaphore. Drops expired tickets, and changes nothing else. */
export function inspect(s: Semaphore, call: port.InspectCall, now: number): port.InspectReply {
  purge(s, now);
  const rate = showRate(s, call.rate, now);
  const { tickets, slots, requests, flows } = s.keys;
  const holders = [...tickets.values()].map((ticket) => {
    const { id, ranges, fencingToken, expiresAt, label, group } = ticket;
    const [heldFor, expiresIn] = [Math.max(0, now - fencingToken / 1000), expiresAt - now];
    const held = { id, slots: slotsOf(ranges), fencingToken, expiresIn, heldFor, label };
    return group === '' ? held : { ...held, group };
  });
  const standings = [...requests.values()].map((r) => {
    const { isParked: parked } = r;
    return { ...r, parked, tag: flows.get(r.flow)?.tag, living: isAlive(s, r, now) };
  });
  const waiters = waitersOf(standings, now, (priority) => timeOf(s, priority));
  const counts = { held: slots.held, waiting: waiters.length };
  const budgets = gcra.budgetsShown(showBudgets(s, now), call.budgets);
  const rules = { ...limitOf(s, call), ...(rate && { rate }), ...budgets, ...capOf(s, call, now) };
  return { ...rules, ...counts, holders, waiters };
}

function capOf({ cap, hasNoCap }: Semaphore, call: port.InspectCall, now: number) {
  const isOn = (cap?.until ?? Infinity) > gcra.microseconds(now);
  const groupLimit = hasNoCap ? undefined : ((isOn ? cap?.permits : undefined) ?? call.groupLimit);
  return groupLimit === undefined ? {} : { groupLimit };
}

function limitOf({ stored, configured }: Semaphore, call: port.InspectCall) {
  if (stored !== undefined) return { limit: stored, limitFrom: 'setLimit' } as const;
  if (configured !== 0) return { limit: configured, limitFrom: 'caller' } as const;
  return { limit: call.limit, limitFrom: 'options' } as const;
}
