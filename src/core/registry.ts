import type { EndedTicket, PushedGrant, PushedTurn, SemaphoreKey } from '../backends/backend.js';
import type { HeldHere } from '../errors.js';
import { placeOf } from '../backends/place-of.js';
import { parseTicketId, ticketId } from '../backends/ticket-id.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Client } from './client.js';
import type { Release } from './release.js';
import type { Request } from './request.js';
import type { Waiters } from './waiters.js';
import { WeakGroups } from './weak-groups.js';

/** How long one search for strays may take, in milliseconds. */
const SEARCH_TIMEOUT_MS = 5000;

/**
 * Between two searches, in milliseconds: after an interruption all semaphores that wait want one,
 * and the server has enough to do.
 */
const SEARCH_PAUSE_MS = 20;

/**
 * A request, a lease, or a ticket that is given back: the last of them hears of nothing but replies
 * to its calls. Were it a stray, it would be gone before its release comes to find it.
 */
export type Permit = Release &
  Partial<
    Pick<
      Request,
      'stage' | 'heldSince' | 'beat' | 'askAgain' | 'onGrant' | 'onTurn' | 'onReportedGone' | 'lose'
    >
  >;

/** The semaphore objects of this process on one backend: a grant finds its request by its id. */
export class Registry {
  readonly #client: Client;
  #lastNumber = 0;
  // Its users, its handles and its timers keep a semaphore alive: unused names take no memory.
  readonly #semaphores = new WeakGroups<Waiters>();
  /** Places of the semaphores among whose tickets strays are searched for, one after the other. */
  readonly #searches = new Set<string>();
  #searched: Promise<void> = Promise.resolve();

  constructor(client: Client) {
    this.#client = client;
  }

  newId(permits: number): string {
    this.#lastNumber += 1;
    return ticketId(this.#client.name, this.#lastNumber, permits);
  }

  /** Ids of adopted tickets were not made here. */
  #made(id: string): boolean {
    const { client, number = Infinity, permits = 1 } = parseTicketId(id) ?? {};
    if (client !== this.#client.name || number > this.#lastNumber) return false;
    return id === ticketId(client, number, permits);
  }

  add(key: SemaphoreKey, semaphore: Waiters): void {
    this.#semaphores.add(placeOf(key), semaphore);
  }

  /**
   * Grants that were pushed, or came with a reply. Strays were given up, or were served before the
   * server lost data: they are given back.
   */
  onGrants(key: SemaphoreKey, grants: readonly PushedGrant[]): void {
    for (const grant of grants) {
      const permit = this.#find(key, grant.id);
      if (permit === undefined) this.#giveBack(key, grant.id);
      else permit.onGrant?.(grant);
    }
  }

  /** What the semaphore objects of that place hold together. Undefined: nothing. */
  heldHere(place: string): HeldHere | undefined {
    const held = this.#semaphores.of(place).flatMap(({ link }) => link.heldHere ?? []);
    const [oldest] = held.toSorted((one, other) => other.heldFor - one.heldFor);
    return oldest && { ...oldest, permits: held.reduce((sum, { permits }) => sum + permits, 0) };
  }

  onTurn(key: SemaphoreKey, turn: PushedTurn): void {
    this.#find(key, turn.id)?.onTurn?.(turn);
  }

  onEnded(key: SemaphoreKey, ended: readonly EndedTicket[]): void {
    for (const { id } of ended) this.#find(key, id)?.onReportedGone?.();
  }

  lose(key: SemaphoreKey, id: string, reason: 'missing' | 'revoked'): void {
    this.#find(key, id)?.lose?.(reason);
  }

  askSoon(place: string): void {
    for (const semaphore of this.#semaphores.of(place)) semaphore.askSoon();
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and
   * tickets that were given back. No other process can know that they are strays.
   */
  searchStrays(key: SemaphoreKey, limit: number): void {
    const place = placeOf(key);
    if (this.#searches.has(place)) return;
    this.#searches.add(place);
    this.#searched = this.#searched.then(() => this.#search(key, limit));
  }

  async #search(key: SemaphoreKey, limit: number): Promise<void> {
    this.#searches.delete(placeOf(key));
    try {
      const call = this.#client.backend.inspect({ key, limit });
      const { holders, waiters } = await withTimeout(this.#client.clock, SEARCH_TIMEOUT_MS, call);
      for (const { id } of [...holders, ...waiters]) {
        if (this.#find(key, id) === undefined) this.#giveBack(key, id);
      }
    } catch {
      // Each stray shows when it is granted, too.
    }
    await new Promise<void>((resolve) => {
      this.#client.clock.schedule(resolve, SEARCH_PAUSE_MS, false);
    });
  }

  #find(key: SemaphoreKey, id: string): Permit | undefined {
    for (const semaphore of this.#semaphores.of(placeOf(key))) {
      const permit = semaphore.link.permits.get(id);
      if (permit !== undefined) return permit;
    }
    return undefined;
  }

  #giveBack(key: SemaphoreKey, id: string): void {
    if (this.#made(id)) this.#semaphores.of(placeOf(key))[0]?.releases.giveBack(id);
  }
}
