import type { SemaphoreKey } from '../backend.js';
import { Heap } from '../heap.js';
import { placeOf } from '../place-of.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import { Inboxes } from './inboxes.js';
import { metersOf } from './rate.js';
import { purge, Semaphore, type Server } from './semaphore.js';

/** Names that stay though no ticket and no request is left: a call costs less for these. */
const MOST_IDLE = 1000;

/** At how many semaphores each call looks: at more than it can add. */
const MOST_LOOKS = 10;

/** The semaphores of a memory backend, by place. */
export class Names {
  readonly server: Server = { inboxes: new Inboxes(), last: 0 };
  readonly #semaphores = new Map<string, Semaphore>();
  /** By the time before which nothing changes without a call. */
  readonly #byLook: Heap<Semaphore> = new Heap(({ lookAt }) => lookAt);

  get size(): number {
    return this.#semaphores.size;
  }

  /** The semaphore of that key, as of a call that begins. */
  find(key: SemaphoreKey, now: number): Semaphore {
    const place = placeOf(key);
    const known = this.#semaphores.get(place);
    if (known !== undefined && now < forgottenAt(known)) return known;
    if (known !== undefined) this.#byLook.remove(known);
    const semaphore = new Semaphore(key, this.server);
    semaphore.lookAt = now;
    this.#semaphores.set(place, semaphore);
    this.#byLook.add(semaphore);
    return semaphore;
  }

  /**
   * After a call. Tickets that were left to expire, and what is known of semaphores that are not
   * called again, must not pile up.
   */
  settle(called: Semaphore, now: number): void {
    if (this.size > MOST_IDLE && !called.isBusy) this.#look(called, now);
    for (let looks = 0; looks < MOST_LOOKS && this.size > MOST_IDLE; looks += 1) {
      const { lowest } = this.#byLook;
      if (lowest === undefined || lowest.lookAt > now) return;
      this.#look(lowest, now);
    }
  }

  /** The places of the semaphores that would be missed. */
  placesAt(now: number): string[] {
    return [...this.#semaphores].flatMap(([place, semaphore]) => {
      purge(semaphore, now);
      return emptyAt(semaphore, now) > now ? [place] : [];
    });
  }

  /** Drops it, where nothing of it counts any more. */
  #look(semaphore: Semaphore, now: number): void {
    purge(semaphore, now);
    if (!semaphore.isBusy) semaphore.rest();
    semaphore.lookAt = emptyAt(semaphore, now);
    this.#byLook.moved(semaphore);
    if (semaphore.lookAt > now) return;
    this.#byLook.remove(semaphore);
    this.#semaphores.delete(placeOf(semaphore.key));
  }
}

/** From when on nothing of it counts any more: it was not used for so long. */
function forgottenAt(semaphore: Semaphore): number {
  let used = semaphore.lastUse;
  for (const [, { arrivals }] of metersOf(semaphore)) used = Math.max(used, arrivals.tat / 1000);
  return used + KEYS_LIFE_MS;
}

/** Until when something of it counts, if it is not called. */
function emptyAt(semaphore: Semaphore, now: number): number {
  const { isBusy, lastUse, stored, cap, hasNoCap, remembers } = semaphore;
  const forgotten = forgottenAt(semaphore);
  if (isBusy) return lastUse > now ? lastUse : forgotten;
  if (stored !== undefined || hasNoCap) return forgotten;
  let until = cap === undefined ? -Infinity : (cap.until ?? Infinity);
  for (const [, meter] of metersOf(semaphore)) {
    until = Math.max(until, meter.until ?? Infinity, meter.arrivals.tat);
  }
  return Math.min(forgotten, Math.max(remembers, until / 1000));
}
