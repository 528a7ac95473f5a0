/** What may be in `Permits`, in one at a time. */
interface Listed {
  readonly id: string;
  /** Where it is in the list; -1: it is in none. */
  place: number;
}

/** Holes are closed when there are more of them than of permits, and than this. */
const MOST_HOLES = 16;

/**
 * The permits of one semaphore object in the order in which they came. A Map would make a new table
 * for most permits of a lone caller, and V8 would move what comes and goes to its old generation;
 * so ids are indexed when one is first looked for, and the index goes with the last permit.
 */
export class Permits<P extends Listed> {
  #items: (P | undefined)[] = [];
  #size = 0;
  #index: Map<string, P> | undefined;

  add(permit: P): void {
    permit.place = this.#items.push(permit) - 1;
    this.#size += 1;
    this.#index?.set(permit.id, permit);
  }

  remove(permit: P): void {
    const { place, id } = permit;
    if (this.#items[place] !== permit) return;
    permit.place = -1;
    this.#items[place] = undefined;
    this.#size -= 1;
    if (this.#index?.get(id) === permit) this.#index.delete(id);
    if (this.#size === 0) this.#clear();
    else if (this.#items.length > 2 * this.#size + MOST_HOLES) this.#closeHoles();
  }

  find(id: string): P | undefined {
    if (this.#size === 0) return undefined;
    this.#index ??= new Map(this.all().map((permit) => [permit.id, permit]));
    return this.#index.get(id);
  }

  first(test: (permit: P) => boolean): P | undefined {
    return this.#items.find((permit) => permit !== undefined && test(permit));
  }

  /** As they are now: what is done with a permit may add or remove others. */
  all(): P[] {
    return this.#items.filter((permit) => permit !== undefined);
  }

  #clear(): void {
    this.#items.length = 0;
    this.#index = undefined;
  }

  #closeHoles(): void {
    this.#items = this.all();
    for (const [place, permit] of this.#items.entries()) if (permit) permit.place = place;
  }
}
