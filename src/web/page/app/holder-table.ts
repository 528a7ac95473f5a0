import type { SlotState } from '../../api-types.js';
import { byId, element, setAttribute, setText } from './dom.js';
import { count, duration } from './format.js';
import { RowWindow, type RowView } from './row-window.js';
import { cell } from './semaphore-row.js';

/** The holder of each slot. */
export class HolderTable {
  readonly #rows: RowWindow<SlotState>;

  constructor(revoke: (slot: SlotState) => void) {
    this.#rows = new RowWindow<SlotState>({
      grid: byId('holders'),
      keyOf: ({ holderId, slot }) => `${slot} ${holderId}`,
      makeRow: () => makeRow(revoke),
      open: revoke,
    });
  }

  show(slots: readonly SlotState[]): void {
    this.#rows.show(slots);
    setText(byId('holders-count'), count(slots.length));
    byId('holders').hidden = slots.length === 0;
    byId('no-holders').hidden = slots.length > 0;
  }

  activate(slot: SlotState): void {
    this.#rows.activate(`${slot.slot} ${slot.holderId}`);
    this.#rows.focus();
  }
}

function makeRow(revoke: (slot: SlotState) => void): RowView<SlotState> {
  const slot = cell('number');
  const label = cell('text');
  const held = cell('number');
  const left = cell('number');
  const token = cell('number');
  const button = element('button', {
    class: 'small danger needs-actions',
    text: 'Revoke',
    attributes: { type: 'button', tabindex: '-1' },
  });
  const row = element('div', {
    class: 'row holder',
    attributes: { role: 'row' },
    children: [slot, label, held, left, token, cell('cell-button', [button])],
  });
  let shown: SlotState | undefined;
  button.addEventListener('click', (event) => {
    event.stopPropagation();
    if (shown !== undefined) revoke(shown);
  });
  const show = (item: SlotState): void => {
    shown = item;
    setText(slot, String(item.slot));
    setText(label, item.label);
    setAttribute(label, 'title', `${item.label}, ticket ${item.holderId}`);
    setText(held, duration(item.heldFor));
    setText(left, duration(item.expiresIn));
    setText(token, String(item.fencingToken));
    setAttribute(button, 'aria-label', `Revoke slot ${item.slot} of ${item.label}`);
  };
  return { element: row, show };
}
