import type * as api from '../../api-types.js';
import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { count, duration, NOTHING, percent } from './format.js';
import { Grid, optional, plain } from './grid.js';
import { makeBar } from './permits.js';

type Budget = [name: string, state: api.BudgetUse];

/** The tables of a semaphore: holders, the queue, budgets, groups and losses. */
export class Tables {
  readonly #holders: Grid<api.SlotState>;
  readonly #queue = new Grid<api.QueuedRequest>({
    id: 'queue',
    keyOf: ({ id }) => id,
    tipOf: ({ label, id }) => `${label}, request ${id}`,
    columns: [
      plain('position', '#', '3.2rem', ({ position }) => String(position + 1)),
      plain('label', 'Label', 'minmax(5rem, 1fr)', ({ label }) => label),
      optional(plain('group', 'Group', 'minmax(3rem, 0.6fr)', ({ group }) => group ?? NOTHING)),
      optional(plain('priority', 'Priority', '3.6rem', ({ priority }) => count(priority))),
      plain('permits', 'Permits', '4.2rem', ({ permits }) => count(permits)),
      plain('since', 'Waiting', '5.2rem', ({ waitingFor }) => duration(waitingFor)),
      optional(plain('estimate', 'Estimate', '5.6rem', estimateText)),
    ],
  });
  readonly #budgets = new Grid<Budget>({
    id: 'budgets',
    keyOf: ([name]) => name,
    tipOf: ([name, { amount, per }]) => `${name}: ${count(amount)} in ${duration(per)}`,
    columns: [
      plain('text', 'Budget', 'minmax(4rem, 1fr)', ([name]) => name),
      { ...plain('spent', 'Used', '1.4fr', usedText), make: makeUsed },
      plain('units', 'Units', '10.5rem', usedText),
    ],
  });
  readonly #groups = new Grid<api.GroupState>({
    id: 'groups',
    keyOf: ({ group }) => group,
    tipOf: ({ group }) => group,
    columns: [
      plain('text', 'Group', 'minmax(4rem, 1fr)', ({ group }) => group || NOTHING),
      { ...plain('share', 'Share', 'minmax(3rem, 1fr)', shareText), make: makeShare },
      plain('percent', '%', '3.6rem', shareText),
      plain('in-use', 'Held', '4.2rem', heldText),
      plain('in-queue', 'Waiting', '4.6rem', ({ waiting }) => count(waiting)),
    ],
  });
  readonly #losses = new Grid<api.LossCount>({
    id: 'losses',
    keyOf: ({ reason }) => reason,
    columns: [
      plain('text', 'Reason', '1fr', ({ reason }) => reason),
      plain('count', 'Count', '4.6rem', (loss) => count(loss.count)),
    ],
  });

  constructor(revoke: (slot: api.SlotState) => void) {
    this.#holders = new Grid<api.SlotState>({
      id: 'holders',
      keyOf: slotKey,
      tipOf: ({ label, holderId }) => `${label}, ticket ${holderId}`,
      open: revoke,
      columns: [
        plain('position', 'Slot', '2.6rem', ({ slot }) => String(slot)),
        plain('label', 'Label', 'minmax(4rem, 1fr)', ({ label }) => label),
        plain('since', 'Held for', '4.6rem', ({ heldFor }) => duration(heldFor)),
        plain('left', 'Time left', '4.6rem', ({ expiresIn }) => duration(expiresIn)),
        plain('token', 'Token', '9.8rem', ({ fencingToken }) => String(fencingToken)),
        optional({ ...plain('action', 'Action', '4.6rem', actionText), make: makeButton }),
      ],
    });
  }

  show({ slots, queue, row: { waiting }, budgets, groups, losses }: api.Detail): void {
    this.#holders.show(slots);
    setText(byId('holders-count'), count(slots.length));
    this.#queue.show(queue);
    const some = queue.length < waiting ? `first ${count(queue.length)} of ` : '';
    setText(byId('queue-count'), `${some}${count(waiting)}`);
    const all = Object.entries(budgets);
    this.#budgets.show(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    this.#groups.show(groups.toSorted((a, b) => b.share - a.share || (a.group < b.group ? -1 : 1)));
    this.#losses.show(losses);
  }

  /** The keyboard continues at this holder. */
  activate(slot: api.SlotState): void {
    this.#holders.activate(slotKey(slot));
  }
}

function slotKey({ slot, holderId }: api.SlotState): string {
  return `${slot} ${holderId}`;
}

/** A view without actions leaves the column out. */
function actionText(): string {
  return document.body.classList.contains('read-only') ? NOTHING : 'Revoke';
}

/** A click on it is a click on the row. */
function makeButton(cell: HTMLElement): (item: api.SlotState) => void {
  const attributes = { type: 'button', tabindex: '-1', class: 'small danger' };
  const button = element('button', attributes, 'Revoke');
  cell.append(button);
  return ({ slot, label }) => setAttribute(button, 'aria-label', `Revoke slot ${slot} of ${label}`);
}

function estimateText({ estimate }: api.QueuedRequest): string {
  return estimate === undefined ? NOTHING : `≈ ${duration(estimate)}`;
}

function usedText([, { used, burst }]: Budget): string {
  return `${count(Math.ceil(used))} / ${count(burst)}`;
}

function makeUsed(cell: HTMLElement): (budget: Budget) => void {
  const showBar = makeBar(cell);
  return ([, { used, burst }]) => {
    const held = Math.ceil(used);
    showBar({ held, limit: burst, over: Math.max(0, held - burst) });
  };
}

function shareText({ share }: api.GroupState): string {
  return percent(share);
}

function heldText({ held, limit }: api.GroupState): string {
  return limit === undefined ? count(held) : `${count(held)} / ${count(limit)}`;
}

function makeShare(cell: HTMLElement): (item: api.GroupState) => void {
  const bar = element('i', { class: 'bar-held' });
  cell.append(element('span', { class: 'bar' }, bar));
  return ({ share }) => setProperty(bar, '--part', `${100 * share}%`);
}
