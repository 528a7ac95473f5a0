import type { SemaphoreRow } from '../../api-types.js';
import { element, setAttribute, setProperty, setText } from './dom.js';
import { count } from './format.js';

/** Each state has a sign beside its word and the colour that style.css gives it. */
const SIGNS = { damaged: '✕', paused: '‖', over: '▲', full: '●', busy: '◐', idle: '○' } as const;

/** Up to this many permits, each has its own cell in a bar. */
const CELLS = 32;

/** `?`: unknown; `∞`: a rate counts, and no limit. */
export function limitText({ limit, limitFrom }: SemaphoreRow): string {
  if (limit !== null) return count(limit);
  return limitFrom === 'none' ? '?' : '∞';
}

/** The numbers of a bar: permits, or a budget. */
type Filled = Pick<SemaphoreRow, 'held' | 'limit' | 'over' | 'error'>;

export function stateOf(row: Filled): keyof typeof SIGNS {
  if (row.error !== undefined) return 'damaged';
  if (row.limit === 0) return 'paused';
  if (row.over > 0) return 'over';
  if (row.limit !== null && row.held >= row.limit) return 'full';
  return row.held > 0 ? 'busy' : 'idle';
}

/** The state as a sign and a word. */
export function makeState(parent: HTMLElement): (row: SemaphoreRow) => void {
  const sign = element('i', { class: 'sign', 'aria-hidden': 'true' });
  const word = element('span');
  parent.append(sign, word);
  return (row) => {
    const state = stateOf(row);
    setAttribute(parent, 'data-state', state);
    setAttribute(sign, 'data-sign', SIGNS[state]);
    setText(word, state);
  };
}

/** A bar of the permits that are held, free and over the limit. Numbers beside it show the same. */
export function makeBar(parent: HTMLElement): (row: Filled) => void {
  const [heldPart, overPart] = [
    element('i', { class: 'bar-held' }),
    element('i', { class: 'bar-over' }),
  ];
  const bar = element('span', { class: 'bar', 'aria-hidden': 'true' }, heldPart, overPart);
  parent.append(bar);
  return (row) => {
    // Holders keep their permits while the semaphore is paused.
    const over = row.limit === 0 ? 0 : row.over;
    const whole = Math.max(row.limit ?? row.held, row.held, 1);
    setAttribute(bar, 'data-state', stateOf(row));
    setAttribute(bar, 'data-cells', String(whole <= CELLS));
    setProperty(bar, '--whole', String(whole));
    setProperty(heldPart, '--part', `${(100 * (row.held - over)) / whole}%`);
    setProperty(overPart, '--part', `${(100 * over) / whole}%`);
  };
}
