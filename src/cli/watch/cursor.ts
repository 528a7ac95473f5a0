import type { Row } from './view.js';

/** The row that the cursor is on. It follows a row that moves, once a key has set it there. */
export class Cursor {
  #index = 0;
  #key: string | undefined;

  /** The index among the rows as they are now. */
  on(rows: readonly Row[]): number {
    const found = rows.findIndex(({ key }) => key === this.#key);
    this.#index = Math.max(0, Math.min(found < 0 ? this.#index : found, rows.length - 1));
    return this.#index;
  }

  /** Whether the row that it was set on is not there any more; then it follows none. */
  hasLost(rows: readonly Row[]): boolean {
    if (this.#key === undefined || rows.some(({ key }) => key === this.#key)) return false;
    this.#key = undefined;
    return true;
  }

  moveTo(index: number, rows: readonly Row[]): void {
    this.#index = Math.max(0, Math.min(index, rows.length - 1));
    this.#key = rows[this.#index]?.key;
  }
}
