import type * as port from '../backend.js';
import { microseconds } from '../gcra.js';
import { Heap, type Heaped } from '../heap.js';
import { firstId } from '../ticket-id.js';
import type { Inboxes } from './inboxes.js';
import { type Cap, permitsIn } from './caps.js';
import { type Flow, freeGroup, type Heads, useCap, type Waiting } from './order.js';
import type { Pace } from './queue-position.js';
import { type Charges, type Meter, readMeters } from './rate.js';
import { Slots } from './free-slots.js';

/** The parts that all semaphores of a backend share. */
export interface Server {
  readonly inboxes: Inboxes;
  /** The last token or arrival. */
  last: number;
}

export interface Ticket extends Heaped {
  readonly id: string;
  /** The first and the last slot of each range. */
  readonly ranges: readonly number[];
  readonly fencingToken: number;
  readonly label: string;
  readonly group: string;
  /** The charges of its grant, by budget. */
  readonly charged: Charges;
  expiresAt: number;
}

type Slotted = Pick<Ticket, 'id' | 'ranges' | 'group' | 'charged'>;

/** The terms of a call's tickets. */
export type Terms = Pick<port.AcquireCall, 'label' | 'ttl'>;

/** A reply without the parts that every reply has. */
export type Said<R> = Omit<R, keyof port.Reply>;

type Told = Pick<port.Reply, 'storedLimit' | 'otherLimit'>;

export const NOTHING: Told = {};

/** Tickets and requests. */
class Keys {
  readonly tickets: Map<string, Ticket> = new Map();
  readonly expiries: Heap<Ticket> = new Heap(({ expiresAt }) => expiresAt);
  readonly slots: Slots = new Slots();
  /** The ids that adopted tickets have now, by their first. */
  readonly adopted: Map<string, string> = new Map();
  /** The requests that wait. */
  readonly requests: Map<string, Waiting> = new Map();
  /** Until when the requests of each client count. */
  readonly clients: Map<string, number> = new Map();
  readonly flows: Map<string, Flow> = new Map();
  /** By priority; empty while the plain flow waits alone. */
  readonly times: Map<number, Heads> = new Map();
  /** Permits that each group holds, while there is a cap. */
  readonly groups: Map<string, number> = new Map();
  /** Requests for more than the limit. Of one number of permits as in a sorted set. */
  readonly parked: Heap<Waiting> = new Heap(
    ({ permits }) => permits,
    (a, b) => a.id < b.id,
  );
}

/**
 * One semaphore in the memory of this process, as the scripts have it: functions of the same names
 * in the same order, at the same cost, O(log n) for each request, ticket, grant and range of slots.
 * Tokens, arrivals and rates are in microseconds, all other times in milliseconds.
 */
export class Semaphore implements Heaped {
  readonly key: port.SemaphoreKey;
  readonly server: Server;
  #keys: Keys | undefined = undefined;
  /** How many requests wait. */
  waiting = 0;
  /** Leases were over since the requests of dead clients were last dropped. */
  isUnswept = false;
  /** The limit of the last caller; 0 before the first call. */
  configured = 0;
  /** The limit that `setLimit` stored. */
  stored: number | undefined = undefined;
  rate: Meter | undefined = undefined;
  /** By name. Apart from the rate: a key that has a rate alone keeps no map. */
  budgets: Map<string, Meter> | undefined = undefined;
  cap: Cap | undefined = undefined;
  /** Stored by `setGroupLimit(undefined)`. */
  hasNoCap = false;
  pace: Pace | undefined = undefined;
  /** Values by which a call knows that it runs twice, by id, and until when; see `remember`. */
  memories: Map<string, readonly [number | true, number]> | undefined = undefined;
  /** Until when any of these values counts. */
  remembers: number = -Infinity;
  /** The last call, or the latest end of a ticket. */
  lastUse: number = -Infinity;
  /** See `names.ts`. */
  index = 0;
  checkAt = 0;

  // Of the call that runs:
  now = 0;
  /** In microseconds. */
  time = 0;
  client = '';
  /** The limit that the caller names, and the limit that counts. */
  own = 0;
  limit = 0;
  told: Told = NOTHING;
  /** A call that asks for permits, and is not late. */
  asked: port.AcquireCall | undefined = undefined;
  /** The ids that it asks for, once a request that waited is granted. */
  ids: ReadonlySet<string> | undefined = undefined;
  /** Nothing is granted: the call asks whether a permit is free. */
  isTrial = false;
  /** The client, once a new request of it has joined the queue: it lives. */
  arriving: string | undefined = undefined;
  /** A request of the call had waited before. */
  recalled = false;
  /** A new request of the call waits. */
  arrived = false;
  /** How many waiting requests were granted, and the grants of each client. */
  served = 0;
  grants: Map<string, port.PushedGrant[]> | undefined = undefined;
  /** The first request, if the rate or a budget alone holds it back. */
  turn: Waiting | undefined = undefined;
  /** The first request, whatever it waits for, if there is a rate or a budget. */
  head: Waiting | undefined = undefined;
  /** The first request may not know that it is the first. */
  moved = false;

  constructor(key: port.SemaphoreKey, server: Server) {
    this.key = key;
    this.server = server;
  }

  get keys(): Keys {
    return (this.#keys ??= new Keys());
  }

  /** Drops the empty collections of tickets and requests. */
  rest(): void {
    this.#keys = undefined;
    this.ids = this.grants = this.turn = this.head = this.asked = undefined;
  }

  get isBusy(): boolean {
    return this.#keys !== undefined && this.#keys.tickets.size + this.waiting > 0;
  }
}

/** A semaphore as the call finds it. */
export function open(s: Semaphore, call: port.Call, now: number): void {
  s.now = now;
  s.time = microseconds(now);
  s.client = call.client;
  s.asked = s.ids = s.grants = s.arriving = undefined;
  s.isTrial = s.recalled = s.arrived = s.moved = false;
  s.served = 0;
  s.lastUse = Math.max(s.lastUse, now);
  if ((s.cap?.until ?? Infinity) <= s.time) useCap(s, undefined);
  purge(s, now);
  readMeters(s);
  s.own = call.limit || s.configured || 1;
  s.limit = s.stored ?? s.own;
  const isOther = s.configured !== 0 && s.configured !== s.own && s.isBusy;
  s.told = s.stored === undefined && isOther ? { otherLimit: s.configured } : toldOf(s);
}

/** A stored limit, for a caller that has another. */
export function toldOf({ stored, own }: Semaphore): Told {
  return stored === undefined || stored === own ? NOTHING : { storedLimit: stored };
}

/** Drops expired tickets. */
export function purge(s: Semaphore, now: number): void {
  while (s.isBusy) {
    const { lowest } = s.keys.expiries;
    if (lowest === undefined || lowest.expiresAt > now) return;
    drop(s, lowest.id);
  }
}

/** Gives a ticket back. False if there is no such ticket. */
export function drop(s: Semaphore, id: string): boolean {
  const { keys } = s;
  const ticket = keys.tickets.get(id);
  if (ticket === undefined) return false;
  keys.tickets.delete(id);
  keys.expiries.remove(ticket);
  keys.slots.free(ticket.ranges);
  freeGroup(s, ticket.group, permitsIn(ticket.ranges));
  if (keys.adopted.size > 0 && firstId(id) !== id) keys.adopted.delete(firstId(id));
  return true;
}

/** Whether a call must change nothing, since its caller has given up. */
export function isLate(s: Semaphore, call: Pick<port.SetLimitCall, 'notAfter'>): boolean {
  return s.now > (call.notAfter ?? Infinity);
}

/** The next token or arrival. */
export function nextNumber({ server, time }: Semaphore): number {
  server.last = Math.max(server.last + 1, time);
  return server.last;
}

/** Writes a new ticket. */
export function add(s: Semaphore, slotted: Slotted, { label, ttl }: Terms): Ticket {
  const { id, ranges, group, charged } = slotted;
  const [expiresAt, fencingToken] = [s.now + ttl, nextNumber(s)];
  const ticket = { id, ranges, label, fencingToken, expiresAt, group, charged, index: 0 };
  s.keys.tickets.set(id, ticket);
  s.keys.expiries.add(ticket);
  s.lastUse = Math.max(s.lastUse, expiresAt);
  return ticket;
}

export function renew(s: Semaphore, ticket: Ticket, ttl: number): Ticket {
  ticket.expiresAt = s.now + ttl;
  s.keys.expiries.moved(ticket);
  s.lastUse = Math.max(s.lastUse, ticket.expiresAt);
  return ticket;
}
