import type { HolderState, InspectReply } from '../backends/backend.js';

/** The shortest time over which the rate is counted, in milliseconds. */
const RATE_MS = 10_000;

/**
 * Counts the grants of a semaphore. Fencing tokens rise with every grant, so the new tokens of a
 * look are above all earlier tokens. A ticket that came and went between two looks is not counted.
 */
export class GrantsSeen {
  #highest = 0;
  #lookedAt = -Infinity;
  /** The first look, or the last look after a pause. */
  #since = 0;
  readonly #recent: { readonly at: number; readonly grants: number }[] = [];
  /** The time over which the rate is counted. A pause is longer. */
  readonly #span: number;

  /** `interval`: milliseconds between two looks. */
  constructor(interval: number) {
    this.#span = Math.max(RATE_MS, 2 * interval);
  }

  /**
   * The tokens granted since the look before. The first look finds no new tokens, nor does a look
   * after a pause: its tokens may be old.
   */
  newTokens(tokens: readonly number[], now: number): readonly number[] {
    const isFirst = now - this.#lookedAt > this.#span;
    const found = isFirst ? [] : tokens.filter((token) => token > this.#highest);
    this.#highest = tokens.reduce((most, token) => Math.max(most, token), this.#highest);
    this.#lookedAt = now;
    if (isFirst) this.#since = now;
    while ((this.#recent[0]?.at ?? now) < now - this.#span) this.#recent.shift();
    if (!isFirst) this.#recent.push({ at: now, grants: found.length });
    return found;
  }

  /** Grants per second; undefined before the second look, also after a pause. */
  rate(now: number): number | undefined {
    const recent = this.#recent.filter(({ at }) => at >= now - this.#span);
    if (recent.length === 0) return undefined;
    const grants = recent.reduce((sum, look) => sum + look.grants, 0);
    return (grants * 1000) / Math.max(1000, Math.min(this.#span, now - this.#since));
  }
}

/** When each waiting request arrived, by its id. */
export type Arrivals = ReadonlyMap<string, number>;

/** The arrivals that a look found, on the clock of `now`. */
export function arrivalsOf({ waiters }: InspectReply, now: number): Arrivals {
  return new Map(waiters.map(({ id, waitingFor }) => [id, now - waitingFor]));
}

/**
 * How long a request waited that was granted between two looks. The wait of a request that the
 * earlier look found waiting is known by its id, to within the time of a reply. A request that no
 * look found has waited for less than the time between two looks, and counts as 0.
 */
export function waitOf({ id, heldFor }: HolderState, before: Arrivals, now: number): number {
  const arrivedAt = before.get(id);
  return arrivedAt === undefined ? 0 : Math.max(0, now - heldFor - arrivedAt);
}
