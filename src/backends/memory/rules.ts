import type * as port from '../backend.js';
import { close } from './close.js';
import { storeRate } from './rate.js';
import { isLate } from './requests.js';
import type { Semaphore } from './semaphore.js';
import { open, toldOf } from './semaphore.js';
import { serve } from './serve.js';

/** For how long a change that is sent again makes nothing new, in milliseconds. */
const CHANGE_LIFE_MS = 60_000;

/** Undefined: no limit is stored. */
function store(s: Semaphore, limit: number | undefined): void {
  s.stored = limit;
  s.limit = limit ?? (s.configured || s.own);
  s.told = toldOf(s);
}

/**
 * An operator may know the stored limit alone: its call says nothing of the limit that others are
 * made with.
 */
function keepCallers(s: Semaphore, isNew: boolean): void {
  s.own = s.configured || s.own;
  if (isNew) s.configured = s.own;
}

export function setLimit(s: Semaphore, call: port.SetLimitCall, now: number): port.SetLimitReply {
  open(s, call, now);
  const late = isLate(call, now);
  if (!late) store(s, call.newLimit);
  keepCallers(s, !late);
  serve(s);
  return { ...close(s), late };
}

export function addPermits(
  s: Semaphore,
  call: port.AddPermitsCall,
  now: number,
): port.AddPermitsReply {
  open(s, call, now);
  const { id, delta } = call;
  const late = isLate(call, now);
  const made = remembered(s.changes, id, now);
  const limit = made ?? s.limit + delta;
  const refused = limit < 0 || limit > Number.MAX_SAFE_INTEGER;
  const isNew = !late && made === undefined && !refused;
  const counts = s.limit;
  if (isNew) {
    store(s, limit);
    s.changes = remember(s, s.changes, id, limit, now + CHANGE_LIFE_MS);
  }
  keepCallers(s, isNew);
  serve(s);
  if (late) return { ...close(s), limit: undefined, late };
  return { ...close(s), ...(refused ? { limit: counts, refused } : { limit }) };
}

export function setRate(s: Semaphore, call: port.SetRateCall, now: number): port.SetRateReply {
  open(s, call, now);
  const late = isLate(call, now);
  if (!late) {
    storeRate(s, call.newRate);
    s.configured = s.own;
  }
  serve(s);
  return { ...close(s), late };
}

/** What a call that runs twice must know, by id, until it counts no more. */
export type Memories<Value> = Map<string, { readonly value: Value; readonly until: number }>;

/** Undefined where it counts no more. */
export function remembered<V>(memories: Memories<V> | undefined, id: string, now: number) {
  const memory = memories?.get(id);
  return memory !== undefined && memory.until > now ? memory.value : undefined;
}

/** The first of those that count no more are forgotten. */
export function remember<V>(
  s: Semaphore,
  memories: Memories<V> | undefined,
  id: string,
  value: V,
  until: number,
): Memories<V> {
  for (const [other, memory] of memories ?? []) {
    if (memory.until > s.now) break;
    memories?.delete(other);
  }
  s.remembers = Math.max(s.remembers, until);
  return (memories ?? new Map()).set(id, { value, until });
}
