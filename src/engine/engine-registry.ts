import type { Backend, EndedTicket, PushedGrant, SemaphoreKey } from '../backends/backend.js';
import type { Clock } from '../time/clock.js';
import { SemaphoreEngine } from './semaphore-engine.js';
import type { LostReason } from '../errors.js';
import type { GrantKeeper } from './grant-inbox.js';
import { GrantInbox } from './grant-inbox.js';
import type { ResolvedOptions } from '../options.js';
import { resolveOptions } from '../options.js';
import { newClientId, parseTicketId, ticketId } from '../backends/ticket-id.js';
import { WeakValues } from './weak-values.js';

/** How many tickets and requests that nobody wants are given back at a time: anybody may send grants. */
const MOST_STRAYS = 1000;

type Siblings = WeakValues<SemaphoreEngine>;

const sessions = new WeakMap<Backend, WeakMap<Clock, EngineRegistry>>();

/** What one process does on one backend: its name there, its inboxes, and its semaphores by name and options. */
export class EngineRegistry implements GrantKeeper {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #client: string;
  // An inbox is kept by its coordinators, its subscription and its timers: unused prefixes take no memory.
  readonly #inboxes = new WeakValues<GrantInbox>();
  // By semaphore, and then by options. A engine is kept by its semaphores, its handles and its timers, and keeps its
  // siblings' place: unused names take no memory.
  readonly #semaphores = new WeakValues<Siblings>();
  /** Ids that are being given back because nobody wants them. */
  readonly #strays = new Set<string>();
  #tickets = 0;

  static of(backend: Backend, clock: Clock): EngineRegistry {
    let ofBackend = sessions.get(backend);
    if (ofBackend === undefined)
      sessions.set(backend, (ofBackend = new WeakMap<Clock, EngineRegistry>()));
    let session = ofBackend.get(clock);
    if (session === undefined) ofBackend.set(clock, (session = new EngineRegistry(backend, clock)));
    return session;
  }

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#client = newClientId(clock.random?.bind(clock));
  }

  newTicketId(permits: number): string {
    this.#tickets += 1;
    return ticketId(this.#client, this.#tickets, permits);
  }

  engine(key: SemaphoreKey, options: ResolvedOptions): SemaphoreEngine {
    const { limit, ttl, extendEvery, retry, label, replicas } = options;
    const siblings = this.#siblings(key);
    const shared = JSON.stringify([limit, ttl, extendEvery, retry, label, replicas]);
    let engine = siblings.get(shared);
    if (engine === undefined) {
      const call = { key, limit, client: this.#client };
      const inbox = this.#inbox(key.prefix);
      engine = new SemaphoreEngine(this.#backend, call, options, inbox, siblings);
      siblings.set(shared, engine);
    }
    return engine;
  }

  /** A ticket was taken from its holder, as the backend has confirmed. */
  lose(key: SemaphoreKey, id: string, reason: LostReason): void {
    for (const engine of this.#coordinatorsOf(key)) engine.lose(id, reason);
  }

  onEnded(prefix: string, ended: readonly EndedTicket[], name: string): void {
    const coordinators = this.#coordinatorsOf({ prefix, name });
    for (const { id } of ended) for (const one of coordinators) one.onEnded(id);
  }

  /** Those that nobody wants are given back: their requests were given up, or served before the server lost data. */
  onGrants(prefix: string, grants: readonly PushedGrant[], name: string): void {
    const key = { prefix, name };
    const coordinators = this.#coordinatorsOf(key);
    for (const grant of grants) {
      if (coordinators.some((one) => one.onGrant(grant))) continue;
      this.#giveBack(key, grant.id);
    }
  }

  onFound(prefix: string, ids: readonly string[], name: string): void {
    const key = { prefix, name };
    const coordinators = this.#coordinatorsOf(key);
    for (const id of ids) {
      if (coordinators.some((one) => one.wants(id))) continue;
      this.#giveBack(key, id);
    }
  }

  /** Ends the subscription unless somebody still waits. */
  async closeInbox(prefix: string): Promise<void> {
    await this.#inboxes.get(prefix)?.close();
  }

  #giveBack(key: SemaphoreKey, id: string): void {
    if (!this.#made(id) || this.#strays.has(id) || this.#strays.size >= MOST_STRAYS) return;
    const [one = this.#withoutLimit(key)] = this.#coordinatorsOf(key);
    this.#strays.add(id);
    one.withdraw(id, () => this.#strays.delete(id));
  }

  /** For a semaphore that nobody here uses: see `Call.limit`. */
  #withoutLimit(key: SemaphoreKey): SemaphoreEngine {
    const { prefix } = key;
    const options = resolveOptions({ limit: 1, prefix, clock: this.#clock });
    return this.engine(key, { ...options, limit: 0 });
  }

  /** Whether it is an id that was given to a request here. Those of adopted tickets are not. */
  #made(id: string): boolean {
    const parts = parseTicketId(id);
    if (parts?.client !== this.#client || parts.number > this.#tickets) return false;
    return id === ticketId(parts.client, parts.number, parts.permits);
  }

  #siblings(key: SemaphoreKey): Siblings {
    const place = placeOf(key);
    let siblings = this.#semaphores.get(place);
    if (siblings === undefined) this.#semaphores.set(place, (siblings = new WeakValues()));
    return siblings;
  }

  #coordinatorsOf(key: SemaphoreKey): SemaphoreEngine[] {
    return [...(this.#semaphores.get(placeOf(key))?.values() ?? [])];
  }

  #inbox(prefix: string): GrantInbox {
    let inbox = this.#inboxes.get(prefix);
    if (inbox === undefined) {
      inbox = new GrantInbox(this.#backend, this.#client, prefix, this.#clock, this);
      this.#inboxes.set(prefix, inbox);
    }
    return inbox;
  }
}

function placeOf({ prefix, name }: SemaphoreKey): string {
  return JSON.stringify([prefix, name]);
}
