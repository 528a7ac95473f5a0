import { Heap, type Heaped } from '../heap.js';

interface FreeRange extends Heaped {
  first: number;
  readonly final: number;
}

const byFirst = ({ first }: FreeRange): number => first;

/** Which slots are free. The lowest free slot is always the next. */
export class Slots {
  /** How many are in use. */
  held = 0;
  /** No slot from there on is in use. */
  #top = 0;
  /** Free ranges below. */
  #free: Heap<FreeRange> = new Heap(byFirst);

  /** `ranges`: the first and the last slot of each. */
  free(ranges: readonly number[]): void {
    for (let i = 0; i < ranges.length; i += 2) {
      const [first = 0, final = first] = [ranges[i], ranges[i + 1]];
      this.held -= final - first + 1;
      if (this.held > 0) this.#free.add({ first, final, index: 0 });
    }
    if (this.held > 0) return;
    this.#top = 0;
    if (this.#free.lowest !== undefined) this.#free = new Heap(byFirst);
  }

  /** The first and the last of the lowest free slots, at most `most`, that lie side by side. */
  take(most: number): number[] {
    const range = this.#free.lowest;
    const first = range?.first ?? this.#top;
    const final = Math.min(range?.final ?? Infinity, first + most - 1);
    this.held += final - first + 1;
    if (range === undefined) {
      this.#top = final + 1;
    } else if (range.final === final) {
      this.#free.remove(range);
    } else {
      range.first = final + 1;
      this.#free.moved(range);
    }
    return [first, final];
  }
}

/** Each by itself, as a reply has them. */
export function slotsOf(ranges: readonly number[]): number[] {
  // V8 makes room for 17 at a first push.
  const slots = ranges.slice(0, 1);
  for (let i = 0; i < ranges.length; i += 2) {
    const [first = 0, final = first] = [ranges[i], ranges[i + 1]];
    for (let slot = i === 0 ? first + 1 : first; slot <= final; slot += 1) slots.push(slot);
  }
  return slots;
}
