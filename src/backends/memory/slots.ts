import type { Heaped } from '../heap.js';
import { Heap } from '../heap.js';

interface FreeRange extends Heaped {
  first: number;
  final: number;
}

/** How many ranges there may be before neighbours become one. */
const FEW = 64;

const byFirst = ({ first }: FreeRange): number => first;

/** Which slots are free, as ranges. The lowest free slot is always the next. */
export class Slots {
  /** How many are in use. */
  held = 0;
  /** From there on none is in use. */
  #top = 0;
  #below: Heap<FreeRange> = new Heap(byFirst);
  #most = FEW;

  /** `ranges`: the first and the last slot of each. */
  free(ranges: readonly number[]): void {
    for (let i = 0; i < ranges.length; i += 2) {
      const [first = 0, final = first] = [ranges[i], ranges[i + 1]];
      this.held -= final - first + 1;
      if (this.held > 0) this.#below.add({ first, final, place: 0 });
    }
    if (this.held === 0) this.#begin(0);
    else if (this.#below.size > this.#most) this.#settle();
  }

  /** The first and the last of the lowest free slots, at most `most`, that lie side by side. */
  take(most: number): number[] {
    const range = this.#below.lowest;
    const first = range?.first ?? this.#top;
    const final = Math.min(range?.final ?? Infinity, first + most - 1);
    this.held += final - first + 1;
    if (range === undefined) this.#top = final + 1;
    else if (range.final === final) this.#below.remove(range);
    // No free slot is between the old first and the new one, so its place in the heap stays right.
    else range.first = final + 1;
    return [first, final];
  }

  #begin(top: number): void {
    this.#top = top;
    if (this.#below.size > 0) this.#below = new Heap(byFirst);
  }

  /** Makes neighbours one; the top sinks to the highest slot in use. */
  #settle(): void {
    const ranges = this.#below.all().toSorted((a, b) => a.first - b.first);
    this.#begin(this.#top);
    let last: FreeRange | undefined;
    for (const range of ranges) {
      if (last?.final === range.first - 1) last.final = range.final;
      else this.#below.add((last = range));
    }
    if (last?.final === this.#top - 1) {
      this.#below.remove(last);
      this.#top = last.first;
    }
    this.#most = 2 * this.#below.size + FEW;
  }
}

/** Each by itself, as a reply has them. */
export function slotsOf(ranges: readonly number[]): number[] {
  // V8 makes room for 17 at a first push.
  if (ranges.length === 2 && ranges[0] === ranges[1]) return ranges.slice(1);
  const slots: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    for (let slot = ranges[i] ?? 0; slot <= (ranges[i + 1] ?? 0); slot += 1) slots.push(slot);
  }
  return slots;
}
