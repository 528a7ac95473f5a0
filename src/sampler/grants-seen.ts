import type { HolderState, InspectReply } from '../backends/backend.js';

/** How far back the rate looks, in milliseconds. */
const RATE_MS = 10_000;

/**
 * Counts the grants of one semaphore. Fencing tokens rise with every grant: of a look's tokens
 * those are new that are above all before. A ticket that came and went between two looks is missed.
 */
export class GrantsSeen {
  #highest: number | undefined;
  #since = 0;
  readonly #recent: { readonly at: number; readonly grants: number }[] = [];

  /** Tokens that were granted since the look before; those of the first look are not new. */
  newOnes(tokens: readonly number[], now: number): readonly number[] {
    const before = this.#highest;
    this.#highest = tokens.reduce((most, token) => Math.max(most, token), before ?? 0);
    if (before === undefined) this.#since = now;
    const found = before === undefined ? [] : tokens.filter((token) => token > before);
    while ((this.#recent[0]?.at ?? now) < now - RATE_MS) this.#recent.shift();
    if (before !== undefined) this.#recent.push({ at: now, grants: found.length });
    return found;
  }

  /** Per second; undefined until two looks were made. */
  rate(now: number): number | undefined {
    const recent = this.#recent.filter(({ at }) => at >= now - RATE_MS);
    if (recent.length === 0) return undefined;
    const grants = recent.reduce((sum, look) => sum + look.grants, 0);
    return (grants * 1000) / Math.max(1000, Math.min(RATE_MS, now - this.#since));
  }
}

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
   * @param newTokens the tokens of all grants since the look before
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
