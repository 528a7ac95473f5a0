/** What may stand in a `LinkedList`, in one at a time. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
  list: object | undefined;
}

/**
 * Objects in the order in which they came, each of which knows its neighbours. A Set that fills and
 * empties with each call is rebuilt by V8 again and again, and every old table refers to the one
 * after it and to all that it had: once the garbage collector has moved one to the old generation,
 * all that comes later is moved there after it.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    item.list = this;
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
    this.#size += 1;
  }

  has(item: T): boolean {
    return item.list === this;
  }

  /** False when it was not there. */
  remove(item: T): boolean {
    if (item.list !== this) return false;
    const { previous, next } = item;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    item.list = undefined;
    item.previous = undefined;
    item.next = undefined;
    this.#size -= 1;
    return true;
  }

  /** As it is now: what is done with one may add or remove others. */
  toArray(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== undefined; item = item.next) items.push(item);
    return items;
  }
}
