import type { SemaphoreSummary } from '../operator.js';
import type { Style } from '../style.js';

/** The share of the permits from which on a semaphore is nearly full. */
const NEARLY_FULL = 0.8;

/** Green; yellow when it is nearly full, or full; red when somebody waits for a full one. */
export function loadStyle({ held, limit, waiting }: SemaphoreSummary): Style {
  if (limit === null) return 'good';
  if (held > limit || (held >= limit && waiting > 0)) return 'alarm';
  return held >= limit * NEARLY_FULL ? 'warning' : 'good';
}
