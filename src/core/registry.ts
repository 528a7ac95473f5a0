import type {
  Backend,
  EndedTicket,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../backends/backend.js';
import type { HeldHere } from '../errors.js';
import { placeOf } from '../backends/place-of.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import { WeakGroups } from './weak-groups.js';

/** How long one search for strays may take, in milliseconds. */
const SEARCH_TIMEOUT_MS = 5000;

/**
 * Between two searches, in milliseconds: after an interruption all semaphores that wait want one,
 * and the server has enough to do.
 */
const SEARCH_PAUSE_MS = 20;

/** A request, a lease, or a ticket that is given back. */
export interface Permit {
  readonly id: string;
  /** Where it is among the permits of its semaphore. */
  place: number;
  /** Answers a caller of `release` if it is time; else gives the monotonic time of that. */
  answerIfDue(now: number): number;
  /** Its ticket was granted, as a message or the reply to another call says. */
  onGrant(grant: PushedGrant): void;
  /** A message says that the rate will allow it. */
  onTurn(turn: PushedTurn): void;
  /** A message says that its ticket was taken away. */
  onReportedGone(): void;
  /** Its ticket was taken away, as the backend has confirmed. */
  lose(reason: 'missing' | 'revoked'): void;
}

/** A semaphore object of this process. */
export interface LocalSemaphore {
  /** Undefined: it holds nothing. */
  readonly heldHere: HeldHere | undefined;
  find(id: string): Permit | undefined;
  /** A grant may have been lost on its way: its requests ask again soon. */
  askSoon(): void;
  /** Gives back a ticket or a request that no object of this process wants. */
  giveBack(id: string): void;
}

interface Search {
  readonly key: SemaphoreKey;
  readonly limit: number;
}

/** The semaphore objects of this process on one backend: a grant finds its request by its id. */
export class Registry {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #made: (id: string) => boolean;
  // Its users, its handles and its timers keep a semaphore alive: unused names take no memory.
  readonly #semaphores = new WeakGroups<LocalSemaphore>();
  /** By place: the semaphores among whose tickets strays are searched for, one after the other. */
  readonly #searches = new Map<string, Search>();
  #searching = false;

  /** `made`: whether an id was made by this process. */
  constructor(backend: Backend, clock: Clock, made: (id: string) => boolean) {
    this.#backend = backend;
    this.#clock = clock;
    this.#made = made;
  }

  add(key: SemaphoreKey, semaphore: LocalSemaphore): void {
    this.#semaphores.add(placeOf(key), semaphore);
  }

  /** Strays were given up, or were served before the server lost data: they are given back. */
  onGrants(key: SemaphoreKey, grants: readonly PushedGrant[]): void {
    for (const grant of grants) {
      const permit = this.#find(key, grant.id);
      if (permit === undefined) this.#giveBack(key, grant.id);
      else permit.onGrant(grant);
    }
  }

  /** What the semaphore objects of that place hold together. Undefined: nothing. */
  heldHere(place: string): HeldHere | undefined {
    const held = this.#semaphores.of(place).flatMap(({ heldHere }) => heldHere ?? []);
    const [oldest] = held.toSorted((one, other) => other.heldFor - one.heldFor);
    return oldest && { ...oldest, permits: held.reduce((sum, { permits }) => sum + permits, 0) };
  }

  onTurn(key: SemaphoreKey, turn: PushedTurn): void {
    this.#find(key, turn.id)?.onTurn(turn);
  }

  onEnded(key: SemaphoreKey, ended: readonly EndedTicket[]): void {
    for (const { id } of ended) this.#find(key, id)?.onReportedGone();
  }

  lose(key: SemaphoreKey, id: string, reason: 'missing' | 'revoked'): void {
    this.#find(key, id)?.lose(reason);
  }

  askSoon(place: string): void {
    for (const semaphore of this.#semaphores.of(place)) semaphore.askSoon();
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and
   * tickets that were given back. No other process can know that they are strays.
   */
  searchStrays(key: SemaphoreKey, limit: number): void {
    this.#searches.set(placeOf(key), { key, limit });
    if (!this.#searching) void this.#searchAll();
  }

  async #searchAll(): Promise<void> {
    this.#searching = true;
    for (const [place, search] of this.#searches) {
      this.#searches.delete(place);
      await this.#search(search);
      await new Promise<void>((resolve) => {
        this.#clock.schedule(resolve, SEARCH_PAUSE_MS, false);
      });
    }
    this.#searching = false;
  }

  async #search({ key, limit }: Search): Promise<void> {
    try {
      const call = this.#backend.inspect({ key, limit });
      const { holders, waiters } = await withTimeout(this.#clock, SEARCH_TIMEOUT_MS, call);
      for (const { id } of [...holders, ...waiters]) {
        if (this.#find(key, id) === undefined) this.#giveBack(key, id);
      }
    } catch {
      // Each stray shows when it is granted, too.
    }
  }

  #find(key: SemaphoreKey, id: string): Permit | undefined {
    for (const semaphore of this.#semaphores.of(placeOf(key))) {
      const permit = semaphore.find(id);
      if (permit !== undefined) return permit;
    }
    return undefined;
  }

  #giveBack(key: SemaphoreKey, id: string): void {
    if (this.#made(id)) this.#semaphores.of(placeOf(key))[0]?.giveBack(id);
  }
}
