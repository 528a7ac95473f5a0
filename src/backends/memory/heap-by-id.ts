import type { Heaped } from '../heap.js';
import { Heap } from '../heap.js';

/** What may be in a `HeapById`. */
export interface Named extends Heaped {
  readonly id: string;
}

/**
 * Items by id, with the one of the lowest rank at hand: as a sorted set of Redis with ranks for
 * scores.
 */
export class HeapById<T extends Named> {
  readonly #byId = new Map<string, T>();
  readonly #heap: Heap<T>;

  constructor(rankOf: (item: T) => number, tieOf: (item: T) => number = rankOf) {
    this.#heap = new Heap(rankOf, tieOf);
  }

  get size(): number {
    return this.#byId.size;
  }

  get lowest(): T | undefined {
    return this.#heap.lowest;
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
    this.#heap.add(item);
  }

  /** The rank of an item has changed. */
  moved(item: T): void {
    this.#heap.moved(item);
  }

  remove(id: string): T | undefined {
    const item = this.#byId.get(id);
    if (item === undefined) return undefined;
    this.#byId.delete(id);
    this.#heap.remove(item);
    return item;
  }
}
