import type { Detail, SlotState } from '../../api-types.js';
import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { count, duration, plural } from './format.js';

/** Most cells: an eye cannot read more. */
const MOST = 600;
/** Up to this number, each cell has room for its holder. */
const ROOMY = 12;

/** All slots side by side, each filled by the time left of its lease. */
export function makeStrip(select: (slot: number) => void): (detail: Detail) => void {
  const strip = byId('strip');
  const cells: ReturnType<typeof makeCell>[] = [];
  /** By ticket id: the longest time left of the ticket so far, which is about its whole lease. */
  let leases: ReadonlyMap<string, number> = new Map();
  strip.addEventListener('click', ({ target }) =>
    select(cells.findIndex(({ element: cell }) => cell.contains(target as Element))),
  );
  return ({ row, slots }) => {
    const bySlot = new Map(slots.map((slot) => [slot.slot, slot]));
    const all = Math.max(row.limit ?? 0, ...slots.map(({ slot }) => slot + 1));
    const shown = Math.min(all, MOST);
    const leaseOf = ({ holderId, expiresIn }: SlotState): number =>
      Math.max(1, expiresIn, leases.get(holderId) ?? 0);
    leases = new Map(slots.map((slot) => [slot.holderId, leaseOf(slot)]));
    setAttribute(strip, 'data-size', all <= ROOMY ? 'roomy' : all <= 128 ? 'number' : 'dot');
    setProperty(strip, '--columns', String(all > ROOMY / 2 ? Math.ceil(all / 2) : all));
    setAttribute(strip, 'aria-label', `${count(row.held)} of ${plural(all, 'slot')} held`);
    while (cells.length < shown) cells.push(makeCell(strip, cells.length));
    cells.forEach(({ element: cell, show }, slot) => {
      const holder = bySlot.get(slot);
      cell.hidden = slot >= shown;
      show(holder, slot >= (row.limit ?? Infinity), holder && holder.expiresIn / leaseOf(holder));
    });
    setText(byId('strip-more'), all > shown ? `and ${count(all - shown)} more slots` : '');
  };
}

function makeCell(strip: HTMLElement, slot: number) {
  const label = element('span', { class: 'slot-label' });
  const times = element('span', { class: 'slot-times' });
  const number = element('span', { class: 'slot-number' }, String(slot));
  const cell = element('span', { class: 'slot' }, number, label, times);
  strip.append(cell);
  /** `left`: the part of its lease. */
  const show = (holder: SlotState | undefined, isOver: boolean, left = 0): void => {
    const state = holder === undefined ? 'free' : isOver ? 'over' : left < 0.4 ? 'ending' : 'held';
    setAttribute(cell, 'data-state', state);
    setAttribute(cell, 'title', `slot ${slot}: ${holder === undefined ? 'free' : tip(holder)}`);
    setProperty(cell, '--left', `${Math.round(100 * left)}%`);
    setText(label, holder?.label ?? 'free');
    setText(times, holder === undefined ? '' : timesOf(holder, ' · '));
  };
  return { element: cell, show };
}

function tip(holder: SlotState): string {
  return `${holder.label}, held ${timesOf(holder, ', ')}, fencing token ${holder.fencingToken}`;
}

function timesOf({ heldFor, expiresIn }: SlotState, between: string): string {
  return `${duration(heldFor)}${between}${duration(expiresIn)} left`;
}
