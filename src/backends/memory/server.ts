import type { GrantListener, Listening, SemaphoreKey } from '../backend.js';
import { microseconds } from '../gcra.js';
import { mapKeyOf } from '../map-key.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import type { Clock } from '../../time/clock.js';
import { isOver, Semaphore } from './semaphore.js';

/** Names that stay though no ticket and no request is left: a call costs less for these. */
const MOST_IDLE = 1000;

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
  /** Which semaphore is looked at next, whether something of it still counts. */
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
    this.#forgetSome();
    const mapKey = mapKeyOf(key);
    const known = this.semaphores.get(mapKey);
    if (known !== undefined && this.now < known.lastUse + KEYS_LIFE_MS) return known;
    const semaphore = new Semaphore(key, this);
    this.semaphores.set(mapKey, semaphore);
    return semaphore;
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

  /**
   * Tickets that were left to expire, and semaphores that are not called again, must not pile up: a
   * call adds a name at most, and looks at two.
   */
  #forgetSome(): void {
    for (let looks = 0; looks < 2 && this.semaphores.size > MOST_IDLE; looks += 1) {
      const { value } = this.#round.next();
      if (value === undefined) this.#round = this.semaphores.values();
      else if (isOver(value)) this.semaphores.delete(mapKeyOf(value.key));
    }
  }
}
