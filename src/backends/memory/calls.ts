import type * as port from '../backend.js';
import * as gcra from '../gcra.js';
import { MOST_BUDGETS } from '../protocol.js';
import { waitersOf } from '../request-order.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import { useCap } from './order.js';
import { budgetsCounted, RATE, settlePrice, showBudgets, showRate, useMeter } from './rate.js';
import {
  drop,
  isLate,
  nextNumber,
  purge,
  renew,
  toldOf,
  type Said,
  type Semaphore,
} from './semaphore.js';
import { isAlive, leave } from './serve.js';

export function giveBack(s: Semaphore, { ids, spent }: port.ReleaseCall): Said<port.ReleaseReply> {
  const released = ids.map((id) => {
    const ticket = drop(s, id);
    const costs = spent?.[ids.indexOf(id)];
    if (ticket !== undefined && costs !== undefined) settlePrice(s, ticket.charged, costs);
    return ticket !== undefined;
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
  const { tickets, adopted } = s.keys;
  const [late, origin] = [isLate(s, call), firstId(id)];
  // A second run finds the new id.
  const ids = late ? [] : [newId, id, adopted.get(origin) ?? origin];
  const found = ids.map((one) => tickets.get(one)).find((ticket) => ticket !== undefined);
  if (found === undefined) return { ticket: undefined, late };
  const before = found.id;
  if (before !== newId) {
    tickets.delete(before);
    tickets.set(newId, found);
    adopted.set(origin, newId);
    found.id = newId;
    found.label = call.label;
    found.fencingToken = nextNumber(s);
    tellEnded(s, before, 'missing');
  }
  const { fencingToken, slots } = renew(s, found, call.ttl);
  return { ticket: { slots: slots.slice(), fencingToken, before } };
}

export function revoke(s: Semaphore, { id }: port.RevokeCall): Said<port.RevokeReply> {
  const ticket = drop(s, id);
  if (ticket !== undefined) {
    remember(s, id, true, ticket.expiresAt);
    tellEnded(s, id, 'revoked');
  }
  return { revoked: remembered(s, id) === true };
}

function tellEnded({ server, key }: Semaphore, id: string, reason: 'missing' | 'revoked'): void {
  const client = parseTicketId(id)?.client ?? '';
  server.tell(key, client, (to) => to.onEnded?.([{ id, reason }], key.name));
}

/** For how long a change that is sent again makes nothing new, in milliseconds. */
const CHANGE_LIFE_MS = 60_000;

/** Undefined: no limit is stored. */
function store(s: Semaphore, limit: number | undefined): void {
  s.stored = limit;
  s.keptUntil = Infinity;
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
  useMeter(s, budget, newRate, Infinity);
  return {};
}

export function setGroupLimit(s: Semaphore, call: port.SetGroupLimitCall): Said<port.SetRateReply> {
  if (isLate(s, call)) return { late: true };
  s.configured = s.own;
  useCap(s, call.newGroupLimit ?? Infinity, Infinity);
  return {};
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
  s.keptUntil = Math.max(s.keptUntil, until);
}

/** The tickets and requests of a semaphore. Drops expired tickets, and changes nothing else. */
export function inspect(s: Semaphore, call: port.InspectCall): port.InspectReply {
  purge(s);
  const { now } = s;
  const { tickets, slots, requests, times } = s.keys;
  const holders = [...tickets.values()].map((ticket) => {
    const { id, fencingToken, expiresAt, label, group } = ticket;
    const [heldFor, expiresIn] = [Math.max(0, now - fencingToken / 1000), expiresAt - now];
    const own = { id, slots: ticket.slots.slice(), fencingToken, expiresIn, heldFor, label };
    return group === '' ? own : { ...own, group };
  });
  const standings = [...requests.values()].map((r) => {
    const [{ label }, tag] = [r.call, r.flow?.tag];
    return { ...r, label, parked: r.flow === undefined, tag, living: isAlive(s, r) };
  });
  const waiters = waitersOf(standings, now, (priority) => times[priority] ?? 0);
  return { ...rulesOf(s, call), held: slots.held, waiting: waiters.length, holders, waiters };
}

function rulesOf(s: Semaphore, call: port.InspectCall) {
  const rate = showRate(s, call.rate);
  const cap = s.capUntil > s.time ? s.cap : call.groupLimit;
  const groupLimit = cap === Infinity ? undefined : cap;
  return {
    ...limitOf(s, call),
    ...(rate && { rate }),
    ...gcra.budgetsShown(showBudgets(s), call.budgets),
    ...(groupLimit && { groupLimit }),
  };
}

function limitOf({ stored, configured }: Semaphore, call: port.InspectCall) {
  if (stored !== undefined) return { limit: stored, limitFrom: 'setLimit' } as const;
  if (configured !== 0) return { limit: configured, limitFrom: 'caller' } as const;
  return { limit: call.limit, limitFrom: 'options' } as const;
}
