import type * as port from '../backend.js';
import { metersShown, RATE } from '../gcra.js';
import { MOST_BUDGETS } from '../protocol.js';
import { waitersOf } from '../request-order.js';
import { firstId, parseTicketId } from '../ticket-id.js';
import { whole, type Whole } from './close.js';
import { tagOf, timeOf, useCap } from './order.js';
import { budgetsCounted, settlePrice, useMeter } from './rate.js';
import { drop, isLate, nextNumber, purge, renew, type Semaphore } from './semaphore.js';
import { isAlive, leaveQueue } from './serve.js';

/** After how many releases new maps replace the old, beside the tickets and requests that stay. */
const MOST_RELEASED = 100;

export const giveBack: Whole<port.ReleaseCall, port.ReleaseReply> = whole((s, { ids, spent }) => {
  const released = ids.map((id, i) => {
    const [ticket, costs] = [drop(s, id), spent?.[i]];
    const r = s.waiting > 0 ? s.keys.requests.get(id) : undefined;
    if (ticket !== undefined && costs !== undefined) settlePrice(s, ticket.charged, costs);
    if (r !== undefined) leaveQueue(s, r);
    return ticket !== undefined;
  });
  const { keys } = s;
  keys.released += ids.length;
  if (keys.released > keys.tickets.size + keys.requests.size + MOST_RELEASED) {
    // V8 links each table that a map outgrows to the next, which would keep what was in it.
    keys.tickets = new Map(keys.tickets);
    keys.requests = new Map(keys.requests);
    keys.released = 0;
  }
  return { released };
});

export const renewEach: Whole<port.ExtendCall, port.ExtendReply> = whole((s, call) => {
  const revoked: string[] = [];
  const extended = call.ids.map((id, i) => {
    const ticket = s.keys.tickets.get(id);
    const token = call.fencingTokens?.[i] ?? ticket?.fencingToken;
    const isSame = ticket !== undefined && ticket.fencingToken === token;
    if (isSame) renew(s, ticket, call.ttl);
    else if (remembered(s, id) !== undefined) revoked.push(id);
    return isSame;
  });
  return revoked.length > 0 ? { extended, revoked } : { extended };
});

/** How each call begins that changes one semaphore. */
function change<C extends port.Call, R>(act: (s: Semaphore, call: C) => Omit<R, keyof port.Reply>) {
  return whole<C, R>((s, call) => {
    // An operator may know the stored limit alone: its call says nothing of the limit that others
    // are made with.
    s.own = s.configured || s.own;
    return act(s, call);
  });
}

export const adopt: Whole<port.AdoptCall, port.AdoptReply> = change((s, call) => {
  const { newId } = call;
  const { tickets } = s.keys;
  const [late, origin] = [isLate(s, call), firstId(newId)];
  const before = [...tickets.keys()].findLast((id) => id.endsWith(`~${origin}`)) ?? origin;
  const found = late ? undefined : tickets.get(before);
  if (found === undefined) return { ticket: undefined, late };
  if (before !== newId) {
    tickets.delete(before);
    tickets.set(newId, found);
    found.id = newId;
    found.label = call.label;
    found.fencingToken = nextNumber(s);
    tellEnded(s, before, 'missing');
  }
  const { fencingToken, slots } = renew(s, found, call.ttl);
  return { ticket: { slots: slots.slice(), fencingToken, before } };
});

export const revoke: Whole<port.RevokeCall, port.RevokeReply> = change((s, { id }) => {
  const ticket = drop(s, id);
  if (ticket !== undefined) {
    remember(s, id, 0, ticket.expiresAt);
    tellEnded(s, id, 'revoked');
  }
  return { revoked: remembered(s, id) !== undefined };
});

function tellEnded({ server, key }: Semaphore, id: string, reason: 'missing' | 'revoked'): void {
  const client = parseTicketId(id)?.client ?? '';
  server.tell(client, (to) => to.onEnded?.([{ id, reason }], key.name));
}

/** For how long a change that is sent again makes nothing new, in milliseconds. */
const CHANGE_LIFE_MS = 60_000;

/** Undefined: no limit is stored. */
function store(s: Semaphore, limit: number | undefined): void {
  s.stored = limit;
  s.other = undefined;
  s.limit = limit ?? s.own;
}

export const setLimit: Whole<port.SetLimitCall, port.SetLimitReply> = change((s, call) => {
  const late = isLate(s, call);
  if (!late) store(s, call.newLimit);
  return { late };
});

export const addPermits: Whole<port.AddPermitsCall, port.AddPermitsReply> = change((s, call) => {
  const { delta } = call;
  // A ticket may have the id of a change.
  const id = `change ${call.id}`;
  const [late, made, before] = [isLate(s, call), remembered(s, id), s.limit];
  const limit = made ?? before + delta;
  const refused = limit < 0 || limit > Number.MAX_SAFE_INTEGER;
  if (!late && !refused && made === undefined) {
    store(s, limit);
    remember(s, id, limit, s.now + CHANGE_LIFE_MS);
  }
  if (late) return { limit: undefined, late };
  return refused ? { limit: before, refused } : { limit };
});

export const setRate: Whole<port.SetRateCall, port.SetRateReply> = change((s, call) => {
  if (isLate(s, call)) return { late: true };
  const { budget = RATE, newRate } = call;
  const full = budget === RATE || newRate === undefined ? [] : budgetsCounted(s);
  if (full.length >= MOST_BUDGETS && !full.includes(budget)) return { full };
  useMeter(s, budget, newRate, Infinity);
  return {};
});

export const setGroupLimit: Whole<port.SetGroupLimitCall, port.SetRateReply> = change((s, call) => {
  if (isLate(s, call)) return { late: true };
  useCap(s, call.newGroupLimit ?? Infinity, Infinity);
  return {};
});

/** The limit that a change made, or 0 of a ticket that was revoked. */
function remembered({ memories, now }: Semaphore, id: string): number | undefined {
  const [value, until = now] = memories.get(id) ?? [];
  return until > now ? value : undefined;
}

/** Forgets the oldest a minute late, as Redis does: by then the clock may have been set back. */
function remember(s: Semaphore, id: string, value: number, until: number): void {
  for (const [other, [, end]] of s.memories) {
    if (end + CHANGE_LIFE_MS > s.now) break;
    s.memories.delete(other);
  }
  s.memories.set(id, [value, until]);
}

/** The tickets and requests of a semaphore. Drops expired tickets, and changes nothing else. */
export function inspect(s: Semaphore, call: port.InspectCall): port.InspectReply {
  purge(s);
  const { now } = s;
  const { tickets, slots, requests } = s.keys;
  const holders = [...tickets.values()].map((ticket) => {
    const { id, fencingToken, expiresAt, label, group } = ticket;
    const [heldFor, expiresIn] = [Math.max(0, now - fencingToken / 1000), expiresAt - now];
    const own = { id, slots: ticket.slots.slice(), fencingToken, expiresIn, heldFor, label };
    return group === '' ? own : { ...own, group };
  });
  const standings = [...requests.values()].map((r) => {
    const isHead = r === r.flow?.waiting.lowest;
    const tag = isHead && r.flow ? tagOf(r.flow) : undefined;
    return { ...r, label: r.call.label, tag, living: isAlive(s, r) };
  });
  const rules = rulesOf(s, call);
  const waiters = waitersOf(standings, rules.limit || Infinity, now, (priority) =>
    timeOf(s, priority),
  );
  return { ...rules, held: slots.held, waiting: waiters.length, holders, waiters };
}

function rulesOf(s: Semaphore, call: port.InspectCall) {
  const { stored, configured } = s;
  const from = configured === 0 ? 'options' : 'caller';
  const limitFrom = stored === undefined ? from : ('setLimit' as const);
  const cap = s.capUntil > s.time ? s.cap : (call.groupLimit ?? Infinity);
  return {
    limit: stored ?? (configured || call.limit),
    limitFrom,
    ...metersShown(s.meters, call, s.time),
    ...(cap < Infinity && { groupLimit: cap }),
  } as const;
}
