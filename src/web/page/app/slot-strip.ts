import type { Detail, SlotState } from '../../api-types.js';
import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { count, duration, plural } from './format.js';

/** More cells than this say nothing to an eye. */
const MOST = 600;
/** Up to this many, each cell has room for its holder. */
const ROOMY = 12;

/** All permits side by side: a cell per slot, filled as far as its lease has time left. */
export class SlotStrip {
  readonly #strip = byId('strip');
  readonly #cells: Cell[] = [];
  readonly #longest = new Map<string, number>();

  constructor(select: (holderId: string) => void) {
    this.#strip.addEventListener('click', (event) => {
      const id = (event.target as Element).closest('.slot')?.getAttribute('data-holder') ?? '';
      if (id !== '') select(id);
    });
  }

  show({ row, slots }: Detail): void {
    const bySlot = new Map(slots.map((slot) => [slot.slot, slot]));
    const highest = slots.reduce((most, { slot }) => Math.max(most, slot + 1), 0);
    const all = Math.max(row.limit ?? 0, highest);
    const shown = Math.min(all, MOST);
    this.#noteLeases(slots);
    setAttribute(this.#strip, 'data-size', all <= ROOMY ? 'roomy' : all <= 128 ? 'number' : 'dot');
    setProperty(this.#strip, '--columns', String(all > ROOMY / 2 ? Math.ceil(all / 2) : all));
    setAttribute(this.#strip, 'aria-label', `${count(row.held)} of ${plural(all, 'slot')} held`);
    while (this.#cells.length < shown) this.#addCell();
    this.#cells.forEach((cell, slot) => {
      cell.element.hidden = slot >= shown;
      if (slot >= shown) return;
      const holder = bySlot.get(slot);
      cell.show(slot, holder, row.limit !== null && slot >= row.limit, this.#left(holder));
    });
    setText(byId('strip-more'), all > shown ? `and ${count(all - shown)} more slots` : '');
  }

  /** Forgets the former semaphore. */
  clear(): void {
    this.#longest.clear();
  }

  #addCell(): void {
    const cell = new Cell();
    this.#cells.push(cell);
    this.#strip.append(cell.element);
  }

  /** The longest time left that was seen of a ticket is about its whole lease. */
  #noteLeases(slots: readonly SlotState[]): void {
    const known = new Set<string>();
    for (const { holderId, expiresIn } of slots) {
      known.add(holderId);
      this.#longest.set(holderId, Math.max(expiresIn, this.#longest.get(holderId) ?? 0));
    }
    for (const id of this.#longest.keys()) if (!known.has(id)) this.#longest.delete(id);
  }

  #left(holder: SlotState | undefined): number {
    if (holder === undefined) return 0;
    return holder.expiresIn / Math.max(1, this.#longest.get(holder.holderId) ?? 1);
  }
}

class Cell {
  readonly #number = element('span', { class: 'slot-number' });
  readonly #label = element('span', { class: 'slot-label' });
  readonly #times = element('span', { class: 'slot-times' });
  readonly element = element('span', {
    class: 'slot',
    children: [this.#number, this.#label, this.#times],
  });

  show(slot: number, holder: SlotState | undefined, isOver: boolean, left: number): void {
    const state = holder === undefined ? 'free' : isOver ? 'over' : left < 0.4 ? 'ending' : 'held';
    setAttribute(this.element, 'data-state', state);
    setAttribute(this.element, 'data-holder', holder?.holderId ?? '');
    setAttribute(this.element, 'title', holder === undefined ? `slot ${slot}: free` : tip(holder));
    setProperty(this.element, '--left', `${Math.round(100 * left)}%`);
    setText(this.#number, String(slot));
    setText(this.#label, holder?.label ?? 'free');
    const times = holder && `${duration(holder.heldFor)} · ${duration(holder.expiresIn)} left`;
    setText(this.#times, times ?? '');
  }
}

function tip({ slot, label, heldFor, expiresIn, fencingToken }: SlotState): string {
  const times = `held ${duration(heldFor)}, ${duration(expiresIn)} left`;
  return `slot ${slot}: ${label}, ${times}, fencing token ${fencingToken}`;
}
