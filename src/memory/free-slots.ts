/** Which numbers from 0 are in use; gives out the lowest that are not. */
export class FreeSlots {
  /** Slots below `#top` that were given back, in falling order. */
  #free: number[] = [];
  #top = 0;

  get used(): number {
    return this.#top - this.#free.length;
  }

  take(count: number): number[] {
    const reused = this.#free.splice(Math.max(0, this.#free.length - count)).toReversed();
    const fresh = Array.from({ length: count - reused.length }, () => this.#top++);
    return [...reused, ...fresh];
  }

  giveBack(slots: readonly number[]): void {
    for (const slot of slots) {
      if (slot === this.#top - 1) this.#top = slot;
      else this.#free.splice(this.#placeOf(slot), 0, slot);
    }
    if (this.used > 0) return;
    this.#top = 0;
    this.#free = [];
  }

  #placeOf(slot: number): number {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#free[middle] ?? 0) > slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
