import type { SemaphoreKey } from '../backend.js';
import { Heap } from '../heap.js';
import { mapKeyOf } from '../map-key.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import { Inboxes } from './inboxes.js';
import { metersOf } from './rate.js';
import { purge, Semaphore, type Server } from './semaphore.js';

/** Names that stay though no ticket and no request is left: a call costs less for these. */
const MOST_IDLE = 1000;

/** How many semaphores each call checks: more than it can add. */
const MOST_CHECKS = 10;

/** The semaphores of a memory backend, by map key. */
export class Names {
  readonly server: Server = { inboxes: new Inboxes(), last: 0 };
  readonly #semaphores = new Map<string, Semaphore>();
  /** By the time before which nothing changes without a call. */
  readonly #byCheck: Heap<Semaphore> = new Heap(({ checkAt }) => checkAt);

  get size(): number {
    return this.#semaphores.size;
  }

  /** The semaphore of that key, as of a call that begins. */
  find(key: SemaphoreKey, now: number): Semaphore {
    const mapKey = mapKeyOf(key);
    const known = this.#semaphores.get(mapKey);
    if (known !== undefined && now < forgottenAt(known)) return known;
    if (known !== undefined) this.#byCheck.remove(known);
    const semaphore = new Semaphore(key, this.server);
    semaphore.checkAt = now;
    this.#semaphores.set(mapKey, semaphore);
    this.#byCheck.add(semaphore);
    return semaphore;
  }

  /**
   * After a call. Tickets that were left to expire, and semaphores that are not called again, must
   * not pile up.
   */
  settle(called: Semaphore, now: number): void {
    if (this.size > MOST_IDLE && !called.isBusy) this.#tidy(called, now);
    for (let checks = 0; checks < MOST_CHECKS && this.size > MOST_IDLE; checks += 1) {
      const { lowest } = this.#byCheck;
      if (lowest === undefined || lowest.checkAt > now) return;
      this.#tidy(lowest, now);
    }
  }

  /** The map keys of the semaphores that would be missed. */
  mapKeysAt(now: number): string[] {
    return [...this.#semaphores].flatMap(([mapKey, semaphore]) => {
      purge(semaphore, now);
      return emptyAt(semaphore, now) > now ? [mapKey] : [];
    });
  }

  /** Drops a semaphore of which nothing counts any more. */
  #tidy(semaphore: Semaphore, now: number): void {
    purge(semaphore, now);
    if (!semaphore.isBusy) semaphore.rest();
    semaphore.checkAt = emptyAt(semaphore, now);
    this.#byCheck.moved(semaphore);
    if (semaphore.checkAt > now) return;
    this.#byCheck.remove(semaphore);
    this.#semaphores.delete(mapKeyOf(semaphore.key));
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
