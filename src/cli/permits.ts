import { NO_LIMIT } from '../backends/protocol.js';
import type { Style } from './style.js';

/** The numbers of a semaphore's permits; limit null: no process has named a limit. */
export interface Permits {
  readonly held: number;
  readonly limit: number | null;
  readonly waiting: number;
}

/** From this share of held permits on, a semaphore is nearly full. */
const NEARLY_FULL = 0.8;

/** `?`: unknown; `-`: a rate counts, and no limit. */
export function limitText(limit: number | null): string {
  if (limit === null) return '?';
  return limit === NO_LIMIT ? '-' : String(limit);
}

/** `2 of 5 held`. */
export function heldOf({ held, limit }: Permits): string {
  if (limit === null) return `${held} held, limit unknown`;
  return limit === NO_LIMIT ? `${held} held, no limit` : `${held} of ${limit} held`;
}

/** Green; yellow when nearly full or full; red when a request waits for a full semaphore. */
export function loadStyle({ held, limit, waiting }: Permits): Style {
  if (limit === null) return 'good';
  if (held > limit || (held >= limit && waiting > 0)) return 'alarm';
  return held >= limit * NEARLY_FULL ? 'warning' : 'good';
}

/** A bar of the permits, full for held permits. A column may stand for several permits. */
export function permitBar({ held, limit }: Permits, columns: number): string {
  const total = Math.max(limit ?? held, held, 1);
  const width = Math.max(1, Math.min(total, columns));
  // A single held permit and a single free permit stay visible.
  const least = held > 0 ? 1 : 0;
  const most = held < total && width > 1 ? width - 1 : width;
  const full = Math.max(least, Math.min(most, Math.round((held / total) * width)));
  return '█'.repeat(full) + '░'.repeat(width - full);
}
