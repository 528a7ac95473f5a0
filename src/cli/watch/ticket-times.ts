import type { HolderState } from '../../index.js';

/** Remembers how long tickets had left, which shows those that are not extended any more. */
export class TicketTimes {
  /** By ticket id: the longest time that it had left at any look, in milliseconds. */
  #longest: ReadonlyMap<string, number> = new Map();

  see(holders: readonly HolderState[]): void {
    const before = this.#longest;
    this.#longest = new Map(
      holders.map(({ id, expiresIn }) => [id, Math.max(expiresIn, before.get(id) ?? 0)]),
    );
  }

  /** Whether a ticket has less than a quarter of the time left that it had before. */
  expiresSoon({ id, expiresIn }: HolderState): boolean {
    return expiresIn < (this.#longest.get(id) ?? 0) / 4;
  }
}
