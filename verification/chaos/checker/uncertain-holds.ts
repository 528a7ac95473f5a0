import { IN_FLIGHT, SLACK } from './precision.js';
import type { Hold, RunRecord } from './run-record.js';
import { type Span, SpanIndex } from './span-index.js';

interface Doubt extends Span {
  /** Tickets that came to their holders later than this were granted after the fault. */
  readonly settled: number;
}

/**
 * When a fault has taken tickets from holders that cannot know it yet. Each of them may believe in
 * its ticket until its lease ends: until then it counts for nothing, while holders that were
 * granted theirs after the fault count as before.
 */
export class UncertainHolds {
  readonly #doubts: SpanIndex<Doubt>;

  constructor({ faults, header }: RunRecord) {
    const breaking = faults.filter(({ effects }) => effects.breaksLimit);
    this.#doubts = new SpanIndex(
      breaking.map(({ from, to }) => ({
        from,
        to: to + header.ttl + SLACK,
        settled: to + IN_FLIGHT,
      })),
    );
  }

  /** The parts of a hold during which nothing excuses another holder. */
  certain(hold: Hold): Span[] {
    const parts: Span[] = [];
    let from = hold.granted;
    for (const doubt of this.#doubts.touching(hold.granted, hold.end)) {
      if (hold.granted > doubt.settled) continue;
      if (doubt.from > from) parts.push({ from, to: doubt.from });
      from = Math.max(from, doubt.to);
    }
    if (from < hold.end) parts.push({ from, to: hold.end });
    return parts;
  }

  /**
   * Whether a ticket came so near to such a fault that nobody can say on which side of it it was
   * granted.
   */
  ambiguous({ granted }: Hold): boolean {
    for (const { from, settled } of this.#doubts.touching(granted, granted)) {
      if (granted >= from && granted <= settled) return true;
    }
    return false;
  }
}
