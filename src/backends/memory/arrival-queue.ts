/** What may wait in an `ArrivalQueue`. */
export interface Arrival {
  readonly id: string;
  /** Its place: lower numbers come first. */
  readonly arrival: number;
}

interface Node<T> {
  readonly item: T;
  readonly next: Links<T>;
}

/** The next node on each level. */
type Links<T> = (Node<T> | undefined)[];

/**
 * Requests in the order of their arrival numbers: a skip list with its ids at hand, as a sorted set of Redis is. Whoever was
 * dropped returns to its old place, and may be withdrawn from anywhere, in O(log n). While it is read through, the item that
 * was read last may be removed.
 */
export class ArrivalQueue<T extends Arrival> implements Iterable<T> {
  readonly #byId = new Map<string, T>();
  readonly #heads: Links<T> = [];

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** No other may be there under its id. */
  add(item: T): void {
    this.#byId.set(item.id, item);
    const before = this.#linksBefore(item);
    const node: Node<T> = { item, next: [] };
    const height = randomHeight();
    for (let level = 0; level < height; level += 1) {
      const links = before[level] ?? this.#heads;
      node.next[level] = links[level];
      links[level] = node;
    }
  }

  /** False when it was not there. */
  remove(id: string): boolean {
    const item = this.#byId.get(id);
    if (item === undefined) return false;
    this.#byId.delete(id);
    this.#linksBefore(item).forEach((links, level) => {
      const node = links[level];
      if (node?.item === item) links[level] = node.next[level];
    });
    return true;
  }

  *[Symbol.iterator](): Generator<T, void> {
    for (let node = this.#heads[0]; node !== undefined; node = node.next[0]) yield node.item;
  }

  /** On each level the links that lead to where `item` is, or belongs. */
  #linksBefore(item: T): Links<T>[] {
    const before: Links<T>[] = [];
    let links = this.#heads;
    for (let level = this.#heads.length - 1; level >= 0; level -= 1) {
      let node = links[level];
      while (node !== undefined && precedes(node.item, item)) {
        links = node.next;
        node = links[level];
      }
      before[level] = links;
    }
    return before;
  }
}

function precedes(one: Arrival, other: Arrival): boolean {
  return one.arrival < other.arrival || (one.arrival === other.arrival && one.id < other.id);
}

/** Each level has a quarter of the nodes of the one below. */
function randomHeight(): number {
  let height = 1;
  while (Math.random() < 0.25) height += 1;
  return height;
}
