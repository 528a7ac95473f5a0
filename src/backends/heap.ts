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
  constructor(rankOf: (item: T) => number, tieOf: (item: T) => number = rankOf) {
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

  /** Those of at most this rank, in no order. */
  upTo(rank: number): T[] {
    const found: T[] = [];
    const places = [0];
    for (let place = places.pop(); place !== undefined; place = places.pop()) {
      const item = this.#items[place];
      if (item === undefined || this.#rankOf(item) > rank) continue;
      found.push(item);
      places.push(2 * place + 1, 2 * place + 2);
    }
    return found;
  }

  add(item: T): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  /** It must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.place = item.place;
    this.moved(last);
  }

  /** The rank of an item has changed. */
  moved(item: T): void {
    this.#rise(item, item.place);
    this.#sink(item, item.place);
  }

  #rise(item: T, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = this.#items[(place - 1) >>> 1];
      if (parent === undefined || !this.#isBefore(item, parent)) break;
      const freed = parent.place;
      this.#put(parent, place);
      place = freed;
    }
    this.#put(item, place);
  }

  #sink(item: T, from: number): void {
    let place = from;
    for (;;) {
      const child = this.#lowerChild(place);
      if (child === undefined || !this.#isBefore(child, item)) break;
      const freed = child.place;
      this.#put(child, place);
      place = freed;
    }
    this.#put(item, place);
  }

  #lowerChild(place: number): T | undefined {
    const left = this.#items[2 * place + 1];
    const right = this.#items[2 * place + 2];
    if (left === undefined || right === undefined) return left;
    return this.#isBefore(right, left) ? right : left;
  }

  #isBefore(one: T, other: T): boolean {
    const difference = this.#rankOf(one) - this.#rankOf(other);
    return difference < 0 || (difference === 0 && this.#tieOf(one) < this.#tieOf(other));
  }

  #put(item: T, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}
