import type { HolderState, InspectReply } from '../backends/backend.js';

/**
 * How long the requests of one semaphore waited that were granted between two looks. A request that
 * was seen waiting is measured by its id, to within the time of a reply; a request never seen has
 * waited for less than the time between two looks, and counts as 0.
 */
export class WaitsSeen {
  #waiting: ReadonlyMap<string, number> = new Map();
  #at: number | undefined;

  /**
   * @param now on a monotonic clock, in milliseconds
   * @param newTokens those of the grants since the look before
   */
  look({ holders, waiters }: InspectReply, now: number, newTokens: readonly number[]): number[] {
    const [before, tokens] = [this.#at, new Set(newTokens)];
    const granted = holders.filter(({ fencingToken }) => tokens.has(fencingToken));
    const waits = before === undefined ? [] : granted.map((holder) => this.#waitOf(holder, now));
    this.#waiting = new Map(waiters.map(({ id, waitingFor }) => [id, now - waitingFor]));
    this.#at = now;
    return waits;
  }

  #waitOf({ id, heldFor }: HolderState, now: number): number {
    const arrivedAt = this.#waiting.get(id);
    return arrivedAt === undefined ? 0 : Math.max(0, now - heldFor - arrivedAt);
  }
}
