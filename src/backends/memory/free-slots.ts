import type { Heaped } from '../heap.js';
import { Heap } from '../heap.js';

/** Slots first, first + 1, … final. */
export interface SlotRange {
  readonly first: number;
  readonly final: number;
}

interface FreeRange extends SlotRange, Heaped {
  first: number;
  final: number;
}

/**
 * Which numbers from 0 are in use; gives out the lowest that are not. It has ranges, as the scripts
 * do, of which the last never ends: what was never used.
 */
export class FreeSlots {
  readonly #lowest = new Heap<FreeRange>(({ first }) => first);
  readonly #byFirst = new Map<number, FreeRange>();
  readonly #byFinal = new Map<number, FreeRange>();
  #used = 0;

  constructor() {
    this.#add(0, Infinity);
  }

  get used(): number {
    return this.#used;
  }

  /** In order. */
  take(count: number): SlotRange[] {
    const taken: SlotRange[] = [];
    let left = count;
    while (left > 0) {
      const range = this.#lowest.lowest;
      if (range === undefined) break;
      const { first } = range;
      const final = Math.min(range.final, first + left - 1);
      taken.push({ first, final });
      left -= final - first + 1;
      if (final < range.final) this.#beginAt(range, final + 1);
      else this.#remove(range);
    }
    this.#used += count - left;
    return taken;
  }

  /** They must be in use. */
  giveBack(ranges: readonly SlotRange[]): void {
    for (const { first, final } of ranges) {
      this.#used -= final - first + 1;
      const below = this.#byFinal.get(first - 1);
      const above = this.#byFirst.get(final + 1);
      if (below !== undefined) {
        if (above !== undefined) this.#remove(above);
        this.#endAt(below, above?.final ?? final);
      } else if (above !== undefined) this.#beginAt(above, first);
      else this.#add(first, final);
    }
  }

  #add(first: number, final: number): void {
    const range = { first, final, place: 0 };
    this.#lowest.add(range);
    this.#byFirst.set(first, range);
    this.#byFinal.set(final, range);
  }

  #remove(range: FreeRange): void {
    this.#lowest.remove(range);
    this.#byFirst.delete(range.first);
    this.#byFinal.delete(range.final);
  }

  // No free slot is between the old first and the new one, so its place in the heap stays right.
  #beginAt(range: FreeRange, first: number): void {
    this.#byFirst.delete(range.first);
    range.first = first;
    this.#byFirst.set(first, range);
  }

  #endAt(range: FreeRange, final: number): void {
    this.#byFinal.delete(range.final);
    range.final = final;
    this.#byFinal.set(final, range);
  }
}

/** Each by itself, as a reply has them. */
export function slotsOf(ranges: readonly SlotRange[]): number[] {
  const slots: number[] = [];
  for (const { first, final } of ranges) {
    for (let slot = first; slot <= final; slot += 1) slots.push(slot);
  }
  return slots;
}
