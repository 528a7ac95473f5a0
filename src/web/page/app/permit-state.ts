import type { SemaphoreRow } from '../../api-types.js';
import { count } from './format.js';

/** The word that is shown; style.css gives each its colour and its shape. */
export type PermitState = 'damaged' | 'paused' | 'over' | 'full' | 'busy' | 'idle';

/** `?`: unknown; `∞`: beside a rate there is none. */
export function limitText({ limit, limitFrom }: SemaphoreRow): string {
  if (limit !== null) return count(limit);
  return limitFrom === 'none' ? '?' : '∞';
}

export function stateOf(row: SemaphoreRow): PermitState {
  if (row.error !== undefined) return 'damaged';
  if (row.limit === 0) return 'paused';
  if (row.over > 0) return 'over';
  if (row.limit !== null && row.held >= row.limit) return 'full';
  return row.held > 0 ? 'busy' : 'idle';
}
