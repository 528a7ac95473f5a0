/** What may be in a `Heap`, in one at a time. */
export interface Heaped {
  /** Where it is in its heap, which alone sets it. */
  place: number;
}

/** A binary heap: it has the first item of an order at hand, and adds, moves and removes any other in O(log n). */
export class Heap<T extends Heaped> {
  readonly #precedes: (one: T, other: T) => boolean;
  readonly #items: T[] = [];

  constructor(precedes: (one: T, other: T) => boolean) {
    this.#precedes = precedes;
  }

  get first(): T | undefined {
    return this.#items[0];
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
      if (parent === undefined || !this.#precedes(item, parent)) break;
      const freed = parent.place;
      this.#put(parent, place);
      place = freed;
    }
    this.#put(item, place);
  }

  #sink(item: T, from: number): void {
    let place = from;
    for (;;) {
      const child = this.#firstChild(place);
      if (child === undefined || !this.#precedes(child, item)) break;
      const freed = child.place;
      this.#put(child, place);
      place = freed;
    }
    this.#put(item, place);
  }

  #firstChild(place: number): T | undefined {
    const left = this.#items[2 * place + 1];
    const right = this.#items[2 * place + 2];
    if (left === undefined || right === undefined) return left;
    return this.#precedes(right, left) ? right : left;
  }

  #put(item: T, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}
