import type { Heaped } from '../../time/heap.js';
import { Heap } from '../../time/heap.js';

/** What ends at a time unless that is moved on. */
export interface Mortal extends Heaped {
  readonly id: string;
  expiresAt: number;
}

/** Items by id, with the one that expires next at hand: as a sorted set of Redis with the expiry for a score. */
export class Expiring<T extends Mortal> {
  readonly #byId = new Map<string, T>();
  readonly #next = new Heap<T>(({ expiresAt }) => expiresAt);

  get size(): number {
    return this.#byId.size;
  }

  /** When the next one expires, if there is any. */
  get nearest(): number | undefined {
    return this.#next.lowest?.expiresAt;
  }

  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** In the order in which they were added. */
  values(): Iterable<T> {
    return this.#byId.values();
  }

  /** No other may be there under its id. */
  add(item: T): void {
    this.#byId.set(item.id, item);
    this.#next.add(item);
  }

  renew(item: T, until: number): void {
    item.expiresAt = until;
    this.#next.moved(item);
  }

  remove(id: string): T | undefined {
    const item = this.#byId.get(id);
    if (item === undefined) return undefined;
    this.#byId.delete(id);
    this.#next.remove(item);
    return item;
  }

  /** Takes out one that has expired, if there is any. */
  takeExpired(now: number): T | undefined {
    const item = this.#next.lowest;
    return item !== undefined && item.expiresAt <= now ? this.remove(item.id) : undefined;
  }
}
