import type { GrantListener, Listening, SemaphoreKey } from '../backend.js';
import { microseconds } from '../gcra.js';
import { mapKeyOf } from '../map-key.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import type { Clock } from '../../time/clock.js';
import { isOver, Semaphore } from './semaphore.js';

/** Names that stay though no ticket and no request is left: a call costs less for these. */
const MOST_IDLE = 1000;

/** How many semaphores each call checks at most: more than it can add. */
const MOST_CHECKS = 10;

/** The semaphores of a memory backend, and the inboxes of their clients. */
export class Server {
  /** When the call that runs began, in milliseconds and in microseconds. */
  now = 0;
  time = 0;
  /** The last token or arrival. */
  last = 0;
  readonly #clock: Clock;
  readonly #epoch: number;
  /** By map key. */
  readonly semaphores: Map<string, Semaphore> = new Map();
  /** Which semaphore is checked next. */
  #round = this.semaphores.values();
  /** By client. */
  readonly #inboxes = new Map<string, GrantListener>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#epoch = clock.wall() - clock.monotonic();
  }

  /** A call begins. Steps of the wall clock must neither end a ticket nor prolong it. */
  begin(): void {
    this.now = this.#epoch + this.#clock.monotonic();
    this.time = microseconds(this.now);
  }

  find(key: SemaphoreKey): Semaphore {
    const mapKey = mapKeyOf(key);
    const known = this.semaphores.get(mapKey);
    if (known !== undefined && this.now < known.lastUse + KEYS_LIFE_MS) return known;
    const semaphore = new Semaphore(key, this);
    this.semaphores.set(mapKey, semaphore);
    return semaphore;
  }

  /**
   * After a call. Tickets that were left to expire, and semaphores that are not called again, must
   * not pile up.
   */
  settle(called: Semaphore): void {
    const { semaphores } = this;
    for (let checks = 0; checks < MOST_CHECKS && semaphores.size > MOST_IDLE; checks += 1) {
      const { value } = this.#round.next();
      if (value === undefined) this.#round = semaphores.values();
      else if (!this.#tidy(value)) break;
    }
    // Last: a round that does not advance keeps each table that the Map has had since.
    if (semaphores.size > MOST_IDLE && !called.isBusy) this.#tidy(called);
  }

  /** The names of the semaphores that would be missed. */
  namesOf(prefix: string): string[] {
    const own = [...this.semaphores.values()].filter(({ key }) => key.prefix === prefix);
    return own.filter((semaphore) => !isOver(semaphore)).map(({ key }) => key.name);
  }

  listen(client: string, listener: GrantListener): Listening {
    this.#inboxes.set(client, listener);
    this.tell(client, (to) => to === listener && listener.onHealth(true));
    return { close: async () => void this.#inboxes.delete(client) };
  }

  /** A message comes later, as from a server: the call that sends it must return first. */
  tell(client: string, say: (listener: GrantListener) => void): void {
    queueMicrotask(() => {
      const listener = this.#inboxes.get(client);
      if (listener !== undefined) say(listener);
    });
  }

  /** Drops a semaphore of which nothing counts any more. Returns whether it has. */
  #tidy(semaphore: Semaphore): boolean {
    const isGone = isOver(semaphore);
    if (!semaphore.isBusy) semaphore.rest();
    return isGone && this.semaphores.delete(mapKeyOf(semaphore.key));
  }
}
