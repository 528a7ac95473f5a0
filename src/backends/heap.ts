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
  readonly #tieOf: ((item: T) => number) | undefined;
  readonly #items: T[] = [];
  /** Those of the items: to look into an item costs more than the rest. */
  readonly #ranks: number[] = [];

  /** `tieOf`: decides between two of one rank, the lower comes first. */
  constructor(rankOf: (item: T) => number, tieOf?: (item: T) => number) {
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
    this.#ranks.push(this.#rankOf(item));
    this.#rise(item.place);
  }

  /** It must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    const rank = this.#ranks.pop();
    if (last === undefined || rank === undefined || last === item) return;
    this.#put(last, rank, item.place);
    this.#rise(last.place);
    this.#sink(last.place);
  }

  /** The rank of an item has changed. */
  moved(item: T): void {
    this.#ranks[item.place] = this.#rankOf(item);
    this.#rise(item.place);
    this.#sink(item.place);
  }

  #rise(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      if (!this.#isBefore(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    let place = from;
    for (;;) {
      const left = 2 * place + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(child, place)) return;
      this.#swap(place, child);
      place = child;
    }
  }

  /** False where there is no such place. */
  #isBefore(place: number, other: number): boolean {
    const [rank, otherRank] = [this.#ranks[place], this.#ranks[other]];
    if (rank === undefined || otherRank === undefined) return false;
    if (rank !== otherRank || this.#tieOf === undefined) return rank < otherRank;
    const [item, otherItem] = [this.#items[place], this.#items[other]];
    return (
      item !== undefined && otherItem !== undefined && this.#tieOf(item) < this.#tieOf(otherItem)
    );
  }

  #swap(place: number, other: number): void {
    const [item, otherItem] = [this.#items[place], this.#items[other]];
    const [rank, otherRank] = [this.#ranks[place], this.#ranks[other]];
    if (item === undefined || otherItem === undefined) return;
    this.#put(item, rank ?? 0, other);
    this.#put(otherItem, otherRank ?? 0, place);
  }

  #put(item: T, rank: number, place: number): void {
    this.#items[place] = item;
    this.#ranks[place] = rank;
    item.place = place;
  }
}
