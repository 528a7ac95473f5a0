import { quoted } from './arguments/shown.js';
import { NO_LIMIT } from './backends/protocol.js';
import type { LostReason } from './errors.js';

/** Of `STORED_LIMIT`. */
export function storedLimitMessage(name: string, stored: number, given: number): string {
  const [counts, own] = [limitShown(stored), limitShown(given)];
  return `the limit of ${quoted(name)} is ${counts}, which setLimit or "redsem limit" stored, and not ${own}, which this object was made with; setLimit(undefined) or redsem limit ${quoted(name)} none removes the stored limit`;
}

function limitShown(limit: number): string {
  return limit === NO_LIMIT ? 'Infinity' : String(limit);
}

/** Of `LIMIT_MISMATCH`. */
export function mismatchMessage(name: string, given: number, other: number): string {
  return `${quoted(name)} is used with limit ${given} here and ${other} elsewhere: each process obeys its own until setLimit stores one`;
}

/** Of `LOST_UNNOTICED`. */
export function unnoticedMessage(name: string, reason: LostReason): string {
  return `a permit of ${quoted(name)} was lost (${reason}) while the function of use() ran, and the function did not look: let it read handle.signal or call assertHeld()`;
}
