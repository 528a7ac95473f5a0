/** What may be in a `Heap`, in one at a time. */
export interface Heaped {
  /** Where it is in its heap, which alone sets it. */
  index: number;
}

/**
 * A binary heap: it has the item of the lowest rank at hand, and adds, moves and removes any other
 * in O(log n).
 */
export class Heap<T extends Heaped> {
  readonly #rankOf: (item: T) => number;
  readonly #tieOf: (item: T) => number;
  readonly #items: T[] = [];

  /** `tieOf`: decides between two of one rank, the lower comes first. */
  constructor(rankOf: (item: T) => number, tieOf: (item: T) => number = () => 0) {
    this.#rankOf = rankOf;
    this.#tieOf = tieOf;
  }

  get size(): number {
    return this.#items.length;
  }

  get lowest(): T | undefined {
    return this.#items[0];
  }

  /** In no order. */
  all(): T[] {
    return [...this.#items];
  }

  add(item: T): void {
    item.index = this.#items.push(item) - 1;
    this.#rise(item);
  }

  /** It must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#put(last, item.index);
    this.moved(last);
  }

  /** The rank of an item has changed. */
  moved(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: T): void {
    while (item.index > 0) {
      const above = this.#items[(item.index - 1) >>> 1];
      if (above === undefined || !this.#isBefore(item, above)) return;
      this.#swap(item, above);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const index = 2 * item.index + 1;
      const [left, right] = [this.#items[index], this.#items[index + 1]];
      if (left === undefined) return;
      const below = right !== undefined && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(below, item)) return;
      this.#swap(item, below);
    }
  }

  #isBefore(one: T, other: T): boolean {
    const [rank, otherRank] = [this.#rankOf(one), this.#rankOf(other)];
    return rank === otherRank ? this.#tieOf(one) < this.#tieOf(other) : rank < otherRank;
  }

  #swap(one: T, other: T): void {
    const { index } = one;
    this.#put(one, other.index);
    this.#put(other, index);
  }

  #put(item: T, index: number): void {
    this.#items[index] = item;
    item.index = index;
  }
}
