import type { SemaphoreRow } from '../../api-types.js';
import { element, setAttribute, setProperty, setText } from './dom.js';
import { count } from './format.js';

/** The word that is shown; style.css gives each its colour and its shape. */
export type PermitState = 'damaged' | 'paused' | 'over' | 'full' | 'busy' | 'idle';

/** Up to this many permits, each has its own cell in a bar. */
const CELLS = 32;

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

/** The state as a mark and a word. */
export function makeState(place: HTMLElement): (row: SemaphoreRow) => void {
  const word = element('span');
  place.append(element('i', { class: 'mark', attributes: { 'aria-hidden': 'true' } }), word);
  return (row) => {
    setAttribute(place, 'data-state', stateOf(row));
    setText(word, stateOf(row));
  };
}

/** Held, free and over the limit as one bar. The numbers beside it say the same. */
export function makeBar(place: HTMLElement): (row: SemaphoreRow) => void {
  const children = [element('i', { class: 'bar-held' }), element('i', { class: 'bar-over' })];
  const bar = element('span', { class: 'bar', attributes: { 'aria-hidden': 'true' }, children });
  place.append(bar);
  return (row) => {
    // While it is paused, holders may keep what they have.
    const over = row.limit === 0 ? 0 : row.over;
    const whole = Math.max(row.limit ?? row.held, row.held, 1);
    setAttribute(bar, 'data-state', stateOf(row));
    setAttribute(bar, 'data-cells', String(whole <= CELLS));
    setProperty(bar, '--whole', String(whole));
    setProperty(bar, '--held-part', `${(100 * (row.held - over)) / whole}%`);
    setProperty(bar, '--over-part', `${(100 * over) / whole}%`);
  };
}
