import type { Detail, SlotState } from '../../api-types.js';
import { byId, element, setAttribute, setText } from './dom.js';
import { count, duration, NOTHING } from './format.js';
import { Grid, number, optional } from './grid.js';

/** The holder of each slot. */
export class HolderTable {
  readonly #grid: Grid<SlotState>;
  #mayRevoke = false;

  constructor(revoke: (slot: SlotState) => void) {
    const action = (): string => (this.#mayRevoke ? 'Revoke' : NOTHING);
    this.#grid = new Grid<SlotState>({
      id: 'holders',
      keyOf,
      open: revoke,
      columns: [
        number('position', 'Slot', '2.6rem', ({ slot }) => String(slot)),
        {
          name: 'label',
          title: 'Label',
          width: 'minmax(4rem, 1fr)',
          text: ({ label }) => label,
          tip: ({ label, holderId }) => `${label}, ticket ${holderId}`,
        },
        number('since', 'Held for', '4.6rem', ({ heldFor }) => duration(heldFor)),
        number('left', 'Time left', '4.6rem', ({ expiresIn }) => duration(expiresIn)),
        number('token', 'Token', '9.8rem', ({ fencingToken }) => String(fencingToken)),
        optional({
          ...number('action', 'Action', '4.6rem', action),
          make: (cell) => makeButton(cell, revoke),
        }),
      ],
    });
  }

  show({ slots, actions }: Detail): void {
    this.#mayRevoke = actions;
    this.#grid.show(slots);
    setText(byId('holders-count'), count(slots.length));
  }

  activate(slot: SlotState): void {
    this.#grid.activate(keyOf(slot));
  }
}

function keyOf({ slot, holderId }: SlotState): string {
  return `${slot} ${holderId}`;
}

function makeButton(
  cell: HTMLElement,
  revoke: (slot: SlotState) => void,
): (item: SlotState) => void {
  const attributes = { type: 'button', tabindex: '-1' };
  const button = element('button', { class: 'small danger', text: 'Revoke', attributes });
  cell.append(button);
  let shown: SlotState | undefined;
  button.addEventListener('click', () => shown && revoke(shown));
  return (item) => {
    shown = item;
    setAttribute(button, 'aria-label', `Revoke slot ${item.slot} of ${item.label}`);
  };
}
