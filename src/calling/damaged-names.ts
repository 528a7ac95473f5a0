import type { SemaphoreKey } from '../backends/backend.js';
import { placeOf } from '../backends/place-of.js';

/** How long a semaphore whose calls fail stays out of those of others, in milliseconds. */
const ALONE_MS = 5000;

/**
 * Semaphores whose calls were refused, whichever of their objects made them: some programs make one
 * for each request.
 */
export class DamagedNames {
  /** Monotonic times until when they stay alone, the earliest first. */
  readonly #until = new Map<string, number>();

  has(key: SemaphoreKey, now: number): boolean {
    return this.#until.size > 0 && now < (this.#until.get(placeOf(key)) ?? -Infinity);
  }

  add(key: SemaphoreKey, now: number): void {
    const place = placeOf(key);
    this.#until.delete(place);
    this.#until.set(place, now + ALONE_MS);
    for (const [other, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(other);
    }
  }
}
