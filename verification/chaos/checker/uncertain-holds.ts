import { IN_FLIGHT, SLACK } from './precision.js';
import { type Hold, type RunRecord, type Span, touching } from './run-record.js';

interface Doubt extends Span {
  /** A ticket that came to its holder later than this was granted after the fault. */
  readonly settled: number;
}

/**
 * When a fault has taken tickets whose holders cannot know it yet. Such a holder may believe in its
 * ticket until its lease ends: until then the hold counts for nothing, while a hold that was
 * granted after the fault counts as before.
 */
function doubtsOf({ faults, header }: RunRecord): Doubt[] {
  return faults
    .filter(({ effects }) => effects.breaksLimit)
    .map(({ from, to }) => {
      return { from, to: to + header.ttl + SLACK, settled: to + IN_FLIGHT };
    });
}

/** The parts of a hold during which nothing excuses another holder. */
export function certainParts(run: RunRecord): (hold: Hold) => Span[] {
  const doubts = doubtsOf(run);
  return ({ granted, end }) => {
    const parts: Span[] = [];
    let from = granted;
    for (const doubt of touching(doubts, granted, end)) {
      if (granted > doubt.settled) continue;
      if (doubt.from > from) parts.push({ from, to: doubt.from });
      from = Math.max(from, doubt.to);
    }
    if (from < end) parts.push({ from, to: end });
    return parts;
  };
}

/**
 * Whether a ticket came so near to such a fault that the fault may be before or after its grant.
 */
export function isAmbiguous({ granted }: Hold, run: RunRecord): boolean {
  return touching(doubtsOf(run), granted, granted).some(({ settled }) => granted <= settled);
}
