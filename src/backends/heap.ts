/** What may be in a `Heap`, in one at a time. */
export interface Heaped {
  /** Where it is in its heap, which alone sets it. */
  place: number;
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
    item.place = this.#items.push(item) - 1;
    this.#rise(item);
  }

  /** It must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#put(last, item.place);
    this.moved(last);
  }

  /** The rank of an item has changed. */
  moved(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: T): void {
    while (item.place > 0) {
      const above = this.#items[(item.place - 1) >>> 1];
      if (above === undefined || !this.#isBefore(item, above)) return;
      this.#swap(item, above);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const place = 2 * item.place + 1;
      const [left, right] = [this.#items[place], this.#items[place + 1]];
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
    const { place } = one;
    this.#put(one, other.place);
    this.#put(other, place);
  }

  #put(item: T, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}
