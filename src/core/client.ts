import type { Backend, Call, PushedGrant, SemaphoreKey } from '../backends/backend.js';
import { mapKeyOf } from '../backends/map-key.js';
import { newClientId, parseTicketId, ticketId } from '../backends/ticket-id.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import type { Batchers } from './operations.js';
import type { Inbox } from './inbox.js';
import type { Permit, SemaphoreLink } from './semaphore-link.js';
import { WeakGroups } from './weak-groups.js';

/** How long one search for strays may take, in milliseconds. */
const SEARCH_TIMEOUT_MS = 5000;

const ofBackend = new WeakMap<Backend, WeakMap<Clock, Client>>();

/**
 * This process as one backend knows it: its name, its calls, which travel together whatever
 * semaphores they are of, and its semaphore objects, among which a grant finds its request by id.
 */
export class Client {
  readonly name: string;
  readonly backend: Backend;
  readonly clock: Clock;
  /** By prefix. Their readers, their subscriptions and their timers keep them alive. */
  readonly inboxes: WeakGroups<Inbox> = new WeakGroups();
  /** By lane and time limit. Their semaphores keep them alive: on a cluster each has its own. */
  readonly batchers: WeakGroups<Batchers> = new WeakGroups();
  /** Its users, its handles and its timers keep a semaphore alive: unused names take no memory. */
  readonly semaphores: WeakGroups<SemaphoreLink> = new WeakGroups();
  #lastNumber = 0;
  /**
   * Map keys of the semaphores among whose tickets strays are searched for, one after the other.
   */
  readonly #searches = new Set<string>();
  #searched: Promise<void> = Promise.resolve();

  static of(backend: Backend, clock: Clock): Client {
    const byClock = ofBackend.get(backend) ?? new WeakMap<Clock, Client>();
    const client = byClock.get(clock) ?? new Client(backend, clock);
    ofBackend.set(backend, byClock.set(clock, client));
    return client;
  }

  constructor(backend: Backend, clock: Clock) {
    this.name = newClientId(clock.random?.bind(clock));
    this.backend = backend;
    this.clock = clock;
  }

  isRetryable(error: unknown): boolean {
    return this.backend.isRetryable?.(error) ?? true;
  }

  newId(permits: number): string {
    this.#lastNumber += 1;
    return ticketId(this.name, this.#lastNumber, permits);
  }

  /**
   * Grants that were pushed, or came with a reply. Strays were given up, or were served before the
   * server lost data: they are given back.
   */
  handOut(key: SemaphoreKey, grants: readonly PushedGrant[]): void {
    for (const grant of grants) {
      const permit = this.find(key, grant.id);
      if (permit === undefined) this.#giveBack(key, grant.id);
      else permit.takeGrant?.(grant);
    }
  }

  find(key: SemaphoreKey, id: string): Permit | undefined {
    const semaphores = this.semaphores.of(mapKeyOf(key));
    return semaphores.find(({ permits }) => permits.has(id))?.permits.get(id);
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and
   * tickets that were given back. No other process can know that they are strays.
   */
  searchStrays({ key, limit }: Call): void {
    const mapKey = mapKeyOf(key);
    if (this.#searches.has(mapKey)) return;
    this.#searches.add(mapKey);
    this.#searched = this.#searched.then(async () => {
      this.#searches.delete(mapKey);
      try {
        const inspecting = this.backend.inspect({ key, limit });
        const found = await withTimeout(this.clock, SEARCH_TIMEOUT_MS, inspecting);
        for (const { id } of [...found.holders, ...found.waiters])
          if (this.find(key, id) === undefined) this.#giveBack(key, id);
      } catch {
        // Each stray shows when it is granted, too.
      }
    });
  }

  #giveBack(key: SemaphoreKey, id: string): void {
    if (this.#made(id)) this.semaphores.of(mapKeyOf(key))[0]?.releases.giveBack(id);
  }

  /** Ids of adopted tickets were not made here. */
  #made(id: string): boolean {
    const { client, number = Infinity, permits = 1 } = parseTicketId(id) ?? {};
    if (client !== this.name || number > this.#lastNumber) return false;
    return id === ticketId(client, number, permits);
  }
}
