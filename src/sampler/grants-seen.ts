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
