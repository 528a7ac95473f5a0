import type { SemaphoreSummary } from '../operator.js';

/** How far back, in seconds. */
export const HISTORY_SECONDS = 60;

interface Bucket {
  readonly second: number;
  grants: number;
  held: number;
  waiting: number;
}

/**
 * What was seen of one semaphore in the last minute. Times are of a monotonic clock, in
 * milliseconds.
 */
export class History {
  readonly #buckets: Bucket[] = [];
  /** By ticket id: the longest time that it had left at any look. */
  #known: ReadonlyMap<string, number> | undefined;
  #since = 0;

  /**
   * Counts the tickets that were not there at the last look; one that came and went between two
   * looks is missed.
   */
  add(now: number, { holders, held, waiting }: SemaphoreSummary): void {
    const known = this.#known;
    if (known === undefined) this.#since = now;
    this.#known = new Map(
      holders.map(({ id, expiresIn }) => [id, Math.max(expiresIn, known?.get(id) ?? 0)]),
    );
    const grants = known === undefined ? 0 : holders.filter(({ id }) => !known.has(id)).length;
    const bucket = this.#bucketOf(Math.floor(now / 1000));
    bucket.grants += grants;
    bucket.held = held;
    bucket.waiting = waiting;
  }

  /** Whether a ticket has less than a quarter of the time left that it had before. */
  expiresSoon(id: string, expiresIn: number): boolean {
    return expiresIn < (this.#known?.get(id) ?? 0) / 4;
  }

  /** Grants per second over the last 10 seconds, or as long as was looked. */
  grantRate(now: number): number {
    const from = Math.floor(now / 1000) - 9;
    const recent = this.#buckets.filter(({ second }) => second >= from);
    const grants = recent.reduce((sum, bucket) => sum + bucket.grants, 0);
    return grants / Math.min(10, Math.max(1, (now - this.#since) / 1000));
  }

  /** Grants in each of the last 60 seconds, oldest first. */
  grants(now: number): number[] {
    return this.#seconds(now).map((bucket) => bucket?.grants ?? 0);
  }

  /** Permits held in each; a second without a look is as the one before. */
  held(now: number): number[] {
    let last = 0;
    return this.#seconds(now).map((bucket) => (last = bucket?.held ?? last));
  }

  /** Requests that waited in each. */
  waiting(now: number): number[] {
    let last = 0;
    return this.#seconds(now).map((bucket) => (last = bucket?.waiting ?? last));
  }

  #seconds(now: number): (Bucket | undefined)[] {
    const current = Math.floor(now / 1000);
    const bySecond = new Map(this.#buckets.map((bucket) => [bucket.second, bucket]));
    return Array.from({ length: HISTORY_SECONDS }, (_, i) =>
      bySecond.get(current - HISTORY_SECONDS + 1 + i),
    );
  }

  #bucketOf(second: number): Bucket {
    const last = this.#buckets.at(-1);
    if (last?.second === second) return last;
    const bucket = { second, grants: 0, held: 0, waiting: 0 };
    this.#buckets.push(bucket);
    if (this.#buckets.length > HISTORY_SECONDS) this.#buckets.shift();
    return bucket;
  }
}
