/** What may be in a `Heap`, in one at a time. */
export interface Heaped {
  /** Where it is in its heap, which alone sets it. */
  index: number;
}

/** A binary heap: it has its first item at hand, and adds, moves and removes in O(log n). */
export class Heap<T extends Heaped> {
  readonly #isBefore: (one: T, other: T) => boolean;
  readonly #items: T[] = [];

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  /** The item that no other is before. */
  get lowest(): T | undefined {
    return this.#items[0];
  }

  /** In no order, until the heap changes. */
  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    this.#settle(item, this.#items.length);
  }

  /** It must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last !== undefined && last !== item) this.#settle(last, item.index);
  }

  /** What `isBefore` reads of an item has changed. */
  moved(item: T): void {
    this.#settle(item, item.index);
  }

  /** Puts an item at an index, or as much higher or lower as it must be. */
  #settle(item: T, index: number): void {
    this.#items[index] = item;
    item.index = index;
    const above = index > 0 ? this.#items[(index - 1) >>> 1] : undefined;
    const other = above !== undefined && this.#isBefore(item, above) ? above : this.#below(item);
    if (other === undefined) return;
    const to = other.index;
    this.#items[index] = other;
    other.index = index;
    this.#settle(item, to);
  }

  /** An item that is below another, but must be above it. */
  #below(item: T): T | undefined {
    const left = this.#items[2 * item.index + 1];
    const right = this.#items[2 * item.index + 2];
    const first = left && right && this.#isBefore(right, left) ? right : left;
    return first && this.#isBefore(first, item) ? first : undefined;
  }
}
