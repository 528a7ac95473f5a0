import type { SemaphoreRow } from '../../api-types.js';

export type PermitState = 'damaged' | 'paused' | 'over' | 'full' | 'busy' | 'idle';

interface Shown {
  /** Never a colour alone: a shape and a word go with it. */
  readonly mark: string;
  readonly word: string;
}

export const STATES: Readonly<Record<PermitState, Shown>> = {
  damaged: { mark: '✕', word: 'damaged' },
  paused: { mark: '‖', word: 'paused' },
  over: { mark: '▲', word: 'over' },
  full: { mark: '■', word: 'full' },
  busy: { mark: '◧', word: 'busy' },
  idle: { mark: '□', word: 'idle' },
};

export function stateOf(row: SemaphoreRow): PermitState {
  if (row.error !== undefined) return 'damaged';
  if (row.limit === 0) return 'paused';
  if (row.over > 0) return 'over';
  if (row.limit !== null && row.held >= row.limit) return 'full';
  return row.held > 0 ? 'busy' : 'idle';
}
