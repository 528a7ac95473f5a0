import type { SemaphoreRow } from '../../api-types.js';
import { element, setAttribute, setProperty } from './dom.js';
import { stateOf } from './permit-state.js';

/** Up to this many permits, each has its own cell. */
const CELLS = 32;

/** Held, free and over the limit as one bar. The numbers beside it say the same. */
export class PermitBar {
  readonly element = element('span', {
    class: 'bar',
    attributes: { 'aria-hidden': 'true' },
    children: [element('i', { class: 'bar-held' }), element('i', { class: 'bar-over' })],
  });

  show(row: SemaphoreRow): void {
    const { held } = row;
    // While it is paused, holders may keep what they have.
    const over = row.limit === 0 ? 0 : row.over;
    const whole = Math.max(row.limit ?? held, held, 1);
    setAttribute(this.element, 'data-state', stateOf(row));
    setAttribute(this.element, 'data-cells', String(whole <= CELLS));
    setProperty(this.element, '--whole', String(whole));
    setProperty(this.element, '--held-part', `${(100 * (held - over)) / whole}%`);
    setProperty(this.element, '--over-part', `${(100 * over) / whole}%`);
  }
}
