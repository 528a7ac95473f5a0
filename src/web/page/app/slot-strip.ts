import type { Detail, SlotState } from '../../api-types.js';
import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { count, duration, plural } from './format.js';

/** Most cells: an eye cannot read more. */
const MOST = 600;
/** Up to this number, each cell has room for its holder. */
const ROOMY = 12;

/** All slots side by side, each filled by the time left of its lease. */
export function makeStrip(select: (holderId: string) => void): (detail: Detail) => void {
  const strip = byId('strip');
  const cells: ReturnType<typeof makeCell>[] = [];
  /** By ticket id: the longest time left of the ticket so far, which is about its whole lease. */
  let leases = new Map<string, number>();
  strip.addEventListener('click', (event) => {
    const id = (event.target as Element).closest('.slot')?.getAttribute('data-holder') ?? '';
    if (id !== '') select(id);
  });
  return ({ row, slots }) => {
    const bySlot = new Map(slots.map((slot) => [slot.slot, slot]));
    const all = Math.max(row.limit ?? 0, ...slots.map(({ slot }) => slot + 1));
    const shown = Math.min(all, MOST);
    leases = longestLeases(slots, leases);
    setAttribute(strip, 'data-size', all <= ROOMY ? 'roomy' : all <= 128 ? 'number' : 'dot');
    setProperty(strip, '--columns', String(all > ROOMY / 2 ? Math.ceil(all / 2) : all));
    setAttribute(strip, 'aria-label', `${count(row.held)} of ${plural(all, 'slot')} held`);
    while (cells.length < shown) cells.push(makeCell(strip));
    cells.forEach((cell, slot) => {
      const holder = bySlot.get(slot);
      const lease = leases.get(holder?.holderId ?? '') ?? Infinity;
      cell.element.hidden = slot >= shown;
      if (slot < shown) cell.show(slot, holder, slot >= (row.limit ?? Infinity), lease);
    });
    setText(byId('strip-more'), all > shown ? `and ${count(all - shown)} more slots` : '');
  };
}

function longestLeases(slots: readonly SlotState[], before: ReadonlyMap<string, number>) {
  return new Map(
    slots.map(({ holderId, expiresIn }) => [
      holderId,
      Math.max(1, expiresIn, before.get(holderId) ?? 0),
    ]),
  );
}

function makeCell(strip: HTMLElement) {
  const number = element('span', { class: 'slot-number' });
  const label = element('span', { class: 'slot-label' });
  const times = element('span', { class: 'slot-times' });
  const cell = element('span', { class: 'slot' }, number, label, times);
  strip.append(cell);
  const show = (slot: number, holder: SlotState | undefined, isOver: boolean, lease: number) => {
    const left = (holder?.expiresIn ?? 0) / lease;
    const state = holder === undefined ? 'free' : isOver ? 'over' : left < 0.4 ? 'ending' : 'held';
    setAttribute(cell, 'data-state', state);
    setAttribute(cell, 'data-holder', holder?.holderId ?? '');
    setAttribute(cell, 'title', holder === undefined ? `slot ${slot}: free` : tip(holder));
    setProperty(cell, '--left', `${Math.round(100 * left)}%`);
    setText(number, String(slot));
    setText(label, holder?.label ?? 'free');
    const shown = holder && `${duration(holder.heldFor)} · ${duration(holder.expiresIn)} left`;
    setText(times, shown ?? '');
  };
  return { element: cell, show };
}

function tip({ slot, label, heldFor, expiresIn, fencingToken }: SlotState): string {
  const times = `held ${duration(heldFor)}, ${duration(expiresIn)} left`;
  return `slot ${slot}: ${label}, ${times}, fencing token ${fencingToken}`;
}
