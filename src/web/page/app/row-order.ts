import type { SemaphoreRow } from '../../api-types.js';

/** How long rows keep their places after somebody has pointed at them. */
const HOLD_MS = 3000;

/** The order of the list: by pressure, then by name, but nothing moves under a hand. */
export class RowOrder {
  #places = new Map<string, number>();
  #heldUntil = 0;

  /** Keeps the order for a moment: a pointer or the keyboard is in the list. */
  hold(): void {
    this.#heldUntil = performance.now() + HOLD_MS;
  }

  arrange(rows: readonly SemaphoreRow[]): readonly SemaphoreRow[] {
    const arranged =
      performance.now() < this.#heldUntil
        ? rows.toSorted((a, b) => this.#placeOf(a) - this.#placeOf(b) || byPressure(a, b))
        : rows.toSorted(byPressure);
    this.#places = new Map(arranged.map(({ name }, place) => [name, place]));
    return arranged;
  }

  #placeOf({ name }: SemaphoreRow): number {
    return this.#places.get(name) ?? Number.MAX_SAFE_INTEGER;
  }
}

function byPressure(a: SemaphoreRow, b: SemaphoreRow): number {
  return b.pressure - a.pressure || (a.name < b.name ? -1 : 1);
}
