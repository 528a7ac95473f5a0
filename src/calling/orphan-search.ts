import type { SemaphoreKey } from '../backends/backend.js';
import { placeOf } from '../backends/place-of.js';
import type { Clock } from '../time/clock.js';

/**
 * Between two looks, in milliseconds: after an interruption all semaphores that wait want one, and
 * the server has enough to do.
 */
const PAUSE_MS = 20;

interface Look {
  readonly key: SemaphoreKey;
  readonly limit: number;
}

/** Looks at one semaphore after the other, the first at once. */
export class OrphanSearch {
  readonly #clock: Clock;
  readonly #look: (key: SemaphoreKey, limit: number) => Promise<void>;
  readonly #wanted = new Map<string, Look>();
  #busy = false;

  /** `look` never rejects. */
  constructor(clock: Clock, look: (key: SemaphoreKey, limit: number) => Promise<void>) {
    this.#clock = clock;
    this.#look = look;
  }

  add(key: SemaphoreKey, limit: number): void {
    this.#wanted.set(placeOf(key), { key, limit });
    if (!this.#busy) void this.#next();
  }

  async #next(): Promise<void> {
    const [first] = this.#wanted;
    this.#busy = first !== undefined;
    if (first === undefined) return;
    const [place, { key, limit }] = first;
    this.#wanted.delete(place);
    await this.#look(key, limit);
    this.#clock.schedule(() => void this.#next(), PAUSE_MS, false);
  }
}
