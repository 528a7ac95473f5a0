import { NO_LIMIT } from '../backends/protocol.js';

/** `?`: unknown; `-`: beside a rate there is none. */
export function limitText(limit: number | null): string {
  if (limit === null) return '?';
  return limit === NO_LIMIT ? '-' : String(limit);
}

/** `2 of 5 held`. */
export function heldOf(held: number, limit: number | null): string {
  if (limit === null) return `${held} held, limit unknown`;
  return limit === NO_LIMIT ? `${held} held, no limit` : `${held} of ${limit} held`;
}

/** What a graph of held permits reaches up to; 0: as far as they do. */
export function ceilingOf(limit: number | null): number {
  return limit === null || limit === NO_LIMIT ? 0 : limit;
}
