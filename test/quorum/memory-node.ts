import type { SemaphoreKey } from '../../src/backends/backend.js';
import type { Clock } from '../../src/time/clock.js';
import type * as port from '../../src/backends/quorum/quorum-node.js';
import { MAX_FREE_SLOTS } from '../../src/backends/protocol.js';
import { LateCallError } from '../../src/backends/quorum/quorum-node.js';
import { haveCommonList } from '../../src/backends/quorum/foreign-sets.js';

/** With times on the node's clock. */
interface Ticket extends port.Holding {
  readonly id: string;
  readonly label: string;
  readonly expiresAt: number;
  readonly grantedAt: number;
}

/** The knowledge of one node about one semaphore. */
interface Slots {
  readonly tickets: Map<string, Ticket>;
  last: number;
  lastLimit: number | undefined;
  /** The sets of nodes that it is used in, and until when. */
  sets: Map<string, { readonly until: number; readonly proven: boolean }>;
}

/**
 * A node in this process's memory: the algorithm of the quorum scripts, step by step, for tests
 * without servers.
 */
export class MemoryQuorumNode implements port.QuorumNode {
  name: string | undefined;
  /** Milliseconds by which its clock is off. */
  skew = 0;
  readonly #clock: Clock;
  readonly #semaphores = new Map<string, Slots>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Loses its data. */
  restart(): void {
    this.#semaphores.clear();
  }

  hold(call: port.HoldCall): Promise<port.HoldReply> {
    const { key, limit, requests } = call;
    const [time, slots] = this.#open(key, call);
    const isTake = requests[0]?.mode === 'take';
    const otherLimit =
      slots.tickets.size > 0 && slots.lastLimit !== limit ? slots.lastLimit : undefined;
    const sets = [...slots.sets].map(([set, { proven }]) => ({ set, proven }));
    const before = new Set(slots.tickets.values());
    const isRefused =
      isTake && call.claim?.otherSet === 'refuse' && foreignSets(slots, call.claim).length > 0;
    const holdings = requests.map((request) => {
      if (isRefused) return undefined;
      return isTake ? take(slots, request, call, time) : keep(slots, request, call, time);
    });
    if ([...slots.tickets.values()].some((ticket) => !before.has(ticket))) {
      slots.lastLimit = limit;
      recordSet(slots, call, time, !isTake);
    }
    const free = isTake ? freeSlots(slots, limit).slice(0, MAX_FREE_SLOTS) : [];
    return Promise.resolve({ time, free, holdings, otherLimit, sets });
  }

  drop({ key, tickets, origin }: port.DropCall): Promise<port.DropReply> {
    const [time, slots] = this.#open(key);
    const dropped = tickets.map(({ id, attempt }) => {
      const ticket = slots.tickets.get(id);
      return ticket !== undefined && ticket.attempt <= attempt && slots.tickets.delete(id);
    });
    const recorded = origin && slots.sets.get(origin.set);
    if (origin !== undefined && recorded !== undefined) {
      if (origin.held && dropped.includes(true))
        slots.sets.set(origin.set, { ...recorded, proven: true });
      else if (!origin.held && !recorded.proven && slots.tickets.size === 0)
        slots.sets.delete(origin.set);
    }
    return Promise.resolve({ time, dropped });
  }

  list(key: SemaphoreKey): Promise<port.ListReply> {
    const [time, slots] = this.#open(key);
    const tickets = Array.from(slots.tickets.values(), ({ expiresAt, grantedAt, ...ticket }) => {
      return { ...ticket, expiresIn: expiresAt - time, heldFor: Math.max(0, time - grantedAt) };
    });
    return Promise.resolve({ time, tickets });
  }

  isRetryable(): boolean {
    return true;
  }

  #open({ prefix, name }: SemaphoreKey, call?: port.CallTiming): [time: number, slots: Slots] {
    const time = this.#clock.wall() + this.skew;
    if (call?.notAfter !== undefined && time > call.notAfter) throw new LateCallError(time);
    const place = JSON.stringify([prefix, name]);
    let slots = this.#semaphores.get(place);
    if (slots === undefined) {
      slots = { tickets: new Map(), last: 0, lastLimit: undefined, sets: new Map() };
      this.#semaphores.set(place, slots);
    }
    for (const [id, { expiresAt }] of slots.tickets) {
      if (expiresAt <= time) slots.tickets.delete(id);
    }
    for (const [set, { until }] of slots.sets) {
      if (until <= time) slots.sets.delete(set);
    }
    return [time, slots];
  }
}

function take(
  slots: Slots,
  { id, attempt, permits, token, slots: aim, label }: port.HoldRequest,
  { limit, ttl }: port.HoldCall,
  time: number,
): port.Holding | undefined {
  const before = slots.tickets.get(id);
  if (before !== undefined && before.attempt >= attempt) {
    return before.attempt === attempt ? before : undefined;
  }
  slots.tickets.delete(id);
  const free = freeSlots(slots, limit);
  const held = [...slots.tickets.values()].reduce((sum, ticket) => sum + ticket.slots.length, 0);
  if (free.length < permits || held + permits > limit) return undefined;
  const aimed = [...new Set(aim)].filter((slot) => free.includes(slot));
  const chosen = [...new Set([...aimed, ...free])].slice(0, permits).toSorted((a, b) => a - b);
  return put(slots, {
    id,
    slots: chosen,
    token: Math.max(nextToken(slots, time), token),
    attempt,
    label,
    expiresAt: time + ttl,
    grantedAt: time,
  });
}

function put(slots: Slots, ticket: Ticket): Ticket {
  slots.last = Math.max(slots.last, ticket.token);
  slots.tickets.set(ticket.id, ticket);
  return ticket;
}

function keep(
  slots: Slots,
  request: port.HoldRequest,
  { limit, ttl }: port.HoldCall,
  time: number,
): port.Holding | undefined {
  const { id, mode, attempt, label } = request;
  const before = slots.tickets.get(id);
  const expiresAt = time + ttl;
  if (mode === 'extend') {
    if (before !== undefined) slots.tickets.set(id, { ...before, expiresAt });
    return before;
  }
  if (before !== undefined && before.attempt > attempt) return undefined;
  slots.tickets.delete(id);
  const free = freeSlots(slots, limit);
  const chosen = request.slots.filter((slot) => free.includes(slot));
  if (chosen.length === 0) return undefined;
  const asWanted = mode === 'restore' || request.token > slots.last;
  const token = asWanted ? request.token : nextToken(slots, time);
  const grantedAt = before?.grantedAt ?? time;
  return put(slots, { id, slots: chosen, token, attempt, label, expiresAt, grantedAt });
}

function nextToken({ last }: Slots, time: number): number {
  return Math.max(last + 1, Math.floor(time * 1000));
}

function freeSlots({ tickets }: Slots, limit: number): number[] {
  const used = new Set([...tickets.values()].flatMap(({ slots }) => slots));
  return Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !used.has(slot));
}

function foreignSets({ sets }: Slots, { set }: port.SetClaim): string[] {
  return [...sets.keys()].filter((other) => !haveCommonList(other, set));
}

/** As `quorum-sets.lua`. */
function recordSet(slots: Slots, call: port.HoldCall, time: number, holds: boolean): void {
  const { claim, ttl } = call;
  if (claim === undefined) return;
  const { sets } = slots;
  const foreign = foreignSets(slots, claim);
  if (foreign.some((other) => !holds || sets.get(other)?.proven === true)) return;
  for (const other of foreign) sets.delete(other);
  const { until = 0, proven = false } = sets.get(claim.set) ?? {};
  sets.set(claim.set, { until: Math.max(until, time + ttl), proven: proven || holds });
}
