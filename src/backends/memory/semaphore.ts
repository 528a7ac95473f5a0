import type * as port from '../backend.js';
import { Heap, type Heaped } from '../heap.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import { Slots } from './slots.js';
import { type Flow, freeGroup, isBefore, useCap, type Waiting } from './order.js';
import { type Charges, type Meter, readMeters } from './rate.js';
import type { Server } from './server.js';

export interface Ticket extends Heaped {
  id: string;
  readonly slots: readonly number[];
  fencingToken: number;
  label: string;
  readonly group: string;
  /** What its grant was charged. */
  readonly charged: Charges;
  expiresAt: number;
}

/** Tickets and requests. */
class Keys {
  tickets: Map<string, Ticket> = new Map();
  /** Releases since the maps of tickets and requests were made. */
  released = 0;
  readonly expiries: Heap<Ticket> = new Heap((a, b) => a.expiresAt < b.expiresAt);
  readonly slots: Slots = new Slots();
  /** The requests that wait. */
  requests: Map<string, Waiting> = new Map();
  /** Until when the requests of each client count. */
  readonly clients: Map<string, number> = new Map();
  readonly flows: Map<string, Flow> = new Map();
  /** The flows whose heads may be next. */
  readonly heads: Heap<Flow> = new Heap(isBefore);
  /** The virtual time of each priority. */
  readonly times: number[] = [];
  /** Permits that each group holds, while there is a cap. */
  readonly groups: Map<string, number> = new Map();
  /** The fewest permits of a request that waits aside, in no flow: for more than the limit. */
  parks: number = Infinity;
}

/**
 * One semaphore in the memory of this process, as the scripts have it: functions of the same names
 * in the same order, at the same cost, O(log n) for each request, ticket and grant, but for the
 * searches of `Slots` and of `adopt`. Tokens, arrivals, rates and caps are in microseconds, all
 * other times in milliseconds.
 */
export class Semaphore {
  readonly key: port.SemaphoreKey;
  readonly server: Server;
  readonly keys: Keys = new Keys();
  /** The limit of the last caller; 0 before the first call. */
  configured = 0;
  /** The limit that `setLimit` stored. */
  stored: number | undefined = undefined;
  /** The rate and the budgets. */
  meters: Meter[] = [];
  /** How many permits each group may hold at once, and until when; Infinity: it is stored. */
  cap: number = Infinity;
  capUntil = 0;
  /** Values by which a call knows that it runs twice, by id, and until when; see `remember`. */
  readonly memories: Map<string, readonly [number, number]> = new Map();
  /** The last call, or the latest end of a ticket, or of what was used of a rate or a budget. */
  lastUse: number = -Infinity;

  // Of the call that runs:
  client = '';
  /** The limit that the caller names, and the limit that counts. */
  own = 0;
  limit = 0;
  /** The limit of another caller, where it differs from the caller's. */
  other: Pick<port.Reply, 'otherLimit'> | undefined = undefined;
  /** A call that asks for permits, and is not late. */
  asked: port.AcquireCall | undefined = undefined;
  /** The client, once a new request of it has joined the queue: it lives. */
  arriving: string | undefined = undefined;
  /** A request of the call had waited before. */
  recalled = false;
  /** A new request of the call waits. */
  arrived = false;
  /** Waiting requests of the caller that were granted, and that it does not ask for. */
  grants: port.PushedGrant[] = [];
  /** The first request, if the rate or a budget alone holds it back. */
  turn: Waiting | undefined = undefined;
  /** The first request may not know that it is the first. */
  moved = false;

  constructor(key: port.SemaphoreKey, server: Server) {
    this.key = key;
    this.server = server;
  }

  get now(): number {
    return this.server.now;
  }

  /** In microseconds. */
  get time(): number {
    return this.server.time;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.keys.requests.size;
  }

  get isBusy(): boolean {
    return this.keys.tickets.size + this.waiting > 0;
  }
}

/** A semaphore as the call finds it. */
export function open(s: Semaphore, call: port.Call): void {
  s.client = call.client;
  s.asked = s.arriving = undefined;
  s.recalled = s.arrived = s.moved = false;
  s.grants = [];
  s.lastUse = Math.max(s.lastUse, s.now);
  if (s.cap < Infinity && s.capUntil <= s.time) useCap(s, Infinity, 0);
  purge(s);
  readMeters(s);
  s.own = call.limit || s.configured || 1;
  s.limit = s.stored ?? s.own;
  const isOther = s.configured !== 0 && s.configured !== s.own && s.isBusy;
  s.other = isOther ? { otherLimit: s.configured } : undefined;
}

/** Drops expired tickets. */
export function purge(s: Semaphore): void {
  const { expiries } = s.keys;
  for (let next = expiries.lowest; next && next.expiresAt <= s.now; next = expiries.lowest) {
    drop(s, next.id);
  }
}

/** Whether nothing of it counts any more. */
export function isOver(s: Semaphore): boolean {
  purge(s);
  readMeters(s);
  const isRuled = s.stored !== undefined || s.meters.length > 0 || s.capUntil > s.time;
  const isKept = isRuled || [...s.memories.values()].some(([, until]) => until > s.now);
  return s.now >= s.lastUse + KEYS_LIFE_MS || !(s.isBusy || isKept);
}

/** Gives a ticket back, if there is such a ticket. */
export function drop(s: Semaphore, id: string): Ticket | undefined {
  const { tickets, expiries, slots } = s.keys;
  const ticket = tickets.get(id);
  if (ticket === undefined) return undefined;
  tickets.delete(id);
  expiries.remove(ticket);
  slots.free(ticket.slots);
  freeGroup(s, ticket.group, ticket.slots.length);
  return ticket;
}

/** Whether a call must change nothing, since its caller has given up. */
export function isLate(s: Semaphore, { notAfter = Infinity }: port.ChangeCall): boolean {
  return s.now > notAfter;
}

/** The next token or arrival. */
export function nextNumber({ server }: Semaphore): number {
  server.last = Math.max(server.last + 1, server.time);
  return server.last;
}

export function renew(s: Semaphore, ticket: Ticket, ttl: number): Ticket {
  ticket.expiresAt = s.now + ttl;
  s.keys.expiries.moved(ticket);
  s.lastUse = Math.max(s.lastUse, ticket.expiresAt);
  return ticket;
}
