import { NO_LIMIT } from '../backends/protocol.js';
import { quoted } from './shown.js';

/** Of the warning `STORED_LIMIT`. */
export function storedLimitMessage(name: string, stored: number, given: number): string {
  const [counts, own] = [stored, given].map((limit) => (limit === NO_LIMIT ? Infinity : limit));
  return `the limit of ${quoted(name)} is ${counts}, which setLimit or "redsem limit" stored, and not ${own}, which this object was made with; setLimit(undefined) or redsem limit ${quoted(name)} none removes the stored limit`;
}
