import type { SemaphoreKey } from '../backend.js';
import { placeOf } from '../place-of.js';

export type HazardListener = (message: string) => void;

/** Listeners for what endangers a semaphore. Each hears of it once. */
export class HazardListeners {
  readonly #listeners = new Map<string, Set<HazardListener>>();

  /** Gives what takes it off again. */
  add(key: SemaphoreKey, listener: HazardListener): () => void {
    const place = placeOf(key);
    const listeners = this.#listeners.get(place) ?? new Set();
    this.#listeners.set(place, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(place) === listeners) {
        this.#listeners.delete(place);
      }
    };
  }

  notify(key: SemaphoreKey, message: string): void {
    if (this.#listeners.size === 0) return;
    const place = placeOf(key);
    const listeners = this.#listeners.get(place) ?? [];
    this.#listeners.delete(place);
    for (const listener of listeners) listener(message);
  }
}
