import type { HolderState, WaiterState } from '../backends/backend.js';
import { heldByGroup } from '../held-by-group.js';
import { shownLimit } from '../sampler/history.js';
import type { Sampler } from '../sampler/sampler.js';
import { WatchedSemaphore } from '../sampler/watched-semaphore.js';
import type * as api from './api-types.js';

/** Most rows of the list, and of each table of a semaphore. */
const MOST_ROWS = 1000;
const MOST_ENTRIES = 5000;

/** The list of the page, as of the last look. */
export function listSnapshot(sampler: Sampler, at: number, actions: boolean): api.ListSnapshot {
  const rows = sampler.semaphores.map((semaphore) => rowOf(sampler, semaphore));
  const semaphores = rows
    .toSorted((one, other) => other.pressure - one.pressure || (one.name < other.name ? -1 : 1))
    .slice(0, MOST_ROWS);
  return { at, server: serverState(sampler), actions, semaphores, total: rows.length };
}

/** The page of a semaphore, as of the last look. */
export function detailOf(sampler: Sampler, name: string, at: number, actions: boolean): api.Detail {
  const semaphore = sampler.semaphore(name) ?? new WatchedSemaphore(name);
  const { holders = [], waiters = [], groupLimit, budgets = {} } = semaphore.detail ?? {};
  const rate = sampler.rate(semaphore);
  return {
    at,
    server: serverState(sampler),
    actions,
    row: rowOf(sampler, semaphore),
    slots: holders.flatMap(slotsOf).slice(0, MOST_ENTRIES),
    queue: waiters.slice(0, MOST_ENTRIES).map((waiter) => queued(waiter, rate)),
    history: sampler.history(name),
    losses: sampler.losses.of(name),
    groups: groupsOf(holders, waiters, groupLimit),
    budgets,
  };
}

function serverState({ reachable, lastOkAt, trouble }: Sampler): api.ServerState {
  const error = trouble !== undefined && { error: trouble };
  return { reachable, lastOkAt: lastOkAt ?? null, ...error };
}

function rowOf(sampler: Sampler, semaphore: WatchedSemaphore): api.SemaphoreRow {
  const { name, error, summary } = semaphore;
  const { limit, limitFrom = 'none', held, waiting, oldestWait = null } = summary;
  const rate = sampler.rate(semaphore);
  return {
    name,
    limit: shownLimit(limit),
    limitFrom,
    held,
    waiting,
    over: Math.max(0, held - (limit ?? held)),
    oldestWait,
    // The wanted permits for each permit of the limit.
    pressure: (held + waiting) / Math.max(1, limit ?? 1),
    ...(rate !== undefined && { rate }),
    ...(error !== undefined && { error }),
  };
}

function slotsOf({
  id,
  slots,
  label,
  heldFor,
  expiresIn,
  fencingToken,
}: HolderState): api.SlotState[] {
  const ticket = { holderId: id, label, heldFor, expiresIn, fencingToken };
  // A ticket may have millions of slots.
  return slots.slice(0, MOST_ENTRIES).map((slot) => ({ slot, ...ticket }));
}

/** `rate`: grants per second. */
function queued(waiter: WaiterState, rate = 0): api.QueuedRequest {
  const { id, position, permits, waitingFor, label, group, priority } = waiter;
  return {
    id,
    position,
    permits,
    waitingFor,
    label,
    ...(group !== '' && { group }),
    ...(priority > 0 && { priority }),
    ...(rate > 0 && { estimate: ((position + 1) / rate) * 1000 }),
  };
}

/** The groups that hold or wait; only waiting groups of the highest priority have a share. */
function groupsOf(
  holders: readonly HolderState[],
  waiters: readonly WaiterState[],
  limit: number | undefined,
): api.GroupState[] {
  const held = heldByGroup(holders);
  const top = waiters.reduce((highest, { priority }) => Math.max(highest, priority), 0);
  const waiting = new Map<string, number>();
  const weights = new Map<string, number>();
  for (const { group, weight, priority } of waiters) {
    waiting.set(group, (waiting.get(group) ?? 0) + 1);
    if (priority === top) weights.set(group, weight);
  }
  const groups = [...new Set([...waiting.keys(), ...held.keys()])];
  if (limit === undefined && groups.every((group) => group === '')) return [];
  const all = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  return groups.map((group) => ({
    group,
    held: held.get(group) ?? 0,
    ...(limit !== undefined && { limit }),
    waiting: waiting.get(group) ?? 0,
    share: (weights.get(group) ?? 0) / Math.max(1, all),
  }));
}
