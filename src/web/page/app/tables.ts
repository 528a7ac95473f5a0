import type {
  BudgetUse,
  Detail,
  GroupState,
  LossCount,
  QueuedRequest,
  SlotState,
} from '../../api-types.js';
import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { count, duration, NOTHING, percent } from './format.js';
import { Grid, number, optional, plain } from './grid.js';
import { makeBar } from './permits.js';

type Budget = [name: string, state: BudgetUse];

/** The tables of a semaphore: holders, the queue, budgets, groups and losses. */
export class Tables {
  readonly #holders: Grid<SlotState>;
  readonly #queue = new Grid<QueuedRequest>({
    id: 'queue',
    keyOf: ({ id }) => id,
    columns: [
      number('position', '#', '3.2rem', ({ position }) => String(position + 1)),
      {
        ...plain('label', 'Label', 'minmax(5rem, 1fr)', ({ label }) => label),
        tip: ({ label, id }) => `${label}, request ${id}`,
      },
      optional(plain('group', 'Group', 'minmax(3rem, 0.6fr)', ({ group }) => group ?? NOTHING)),
      optional(number('priority', 'Priority', '3.6rem', ({ priority }) => count(priority))),
      number('permits', 'Permits', '4.2rem', ({ permits }) => count(permits)),
      number('since', 'Waiting', '5.2rem', ({ waitingFor }) => duration(waitingFor)),
      optional(number('estimate', 'Estimate', '5.6rem', estimateText)),
    ],
  });
  readonly #budgets = new Grid<Budget>({
    id: 'budgets',
    keyOf: ([name]) => name,
    columns: [
      {
        ...plain('text', 'Budget', 'minmax(4rem, 1fr)', ([name]) => name),
        tip: ([name, { amount, per }]) => `${name}: ${count(amount)} in ${duration(per)}`,
      },
      { ...plain('spent', 'Used', '1.4fr', usedText), make: makeUsed },
      number('units', 'Units', '10.5rem', usedText),
    ],
  });
  readonly #groups = new Grid<GroupState>({
    id: 'groups',
    keyOf: ({ group }) => group,
    columns: [
      {
        ...plain('text', 'Group', 'minmax(4rem, 1fr)', ({ group }) => group || NOTHING),
        tip: ({ group }) => group,
      },
      { ...plain('share', 'Share', 'minmax(3rem, 1fr)', shareText), make: makeShare },
      number('percent', '%', '3.6rem', shareText),
      number('in-use', 'Held', '4.2rem', heldText),
      number('in-queue', 'Waiting', '4.6rem', ({ waiting }) => count(waiting)),
    ],
  });
  readonly #losses = new Grid<LossCount>({
    id: 'losses',
    keyOf: ({ reason }) => reason,
    columns: [
      plain('text', 'Reason', '1fr', ({ reason }) => reason),
      number('count', 'Count', '4.6rem', (loss) => count(loss.count)),
    ],
  });

  constructor(revoke: (slot: SlotState) => void) {
    this.#holders = new Grid<SlotState>({
      id: 'holders',
      keyOf: slotKey,
      open: revoke,
      columns: [
        number('position', 'Slot', '2.6rem', ({ slot }) => String(slot)),
        {
          ...plain('label', 'Label', 'minmax(4rem, 1fr)', ({ label }) => label),
          tip: ({ label, holderId }) => `${label}, ticket ${holderId}`,
        },
        number('since', 'Held for', '4.6rem', ({ heldFor }) => duration(heldFor)),
        number('left', 'Time left', '4.6rem', ({ expiresIn }) => duration(expiresIn)),
        number('token', 'Token', '9.8rem', ({ fencingToken }) => String(fencingToken)),
        optional({
          ...number('action', 'Action', '4.6rem', actionText),
          make: (cell) => makeButton(cell, revoke),
        }),
      ],
    });
  }

  show({ slots, queue, row: { waiting }, budgets, groups, losses }: Detail): void {
    this.#holders.show(slots);
    setText(byId('holders-count'), count(slots.length));
    this.#queue.show(queue);
    const some = queue.length < waiting ? `first ${count(queue.length)} of ` : '';
    setText(byId('queue-count'), `${some}${count(waiting)}`);
    const all = Object.entries(budgets);
    byId('budgets-card').hidden = all.length === 0;
    this.#budgets.show(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    byId('groups-card').hidden = groups.length === 0;
    this.#groups.show(groups.toSorted((a, b) => b.share - a.share || (a.group < b.group ? -1 : 1)));
    this.#losses.show(losses);
  }

  /** The keyboard continues at this holder. */
  activate(slot: SlotState): void {
    this.#holders.activate(slotKey(slot));
  }
}

function slotKey({ slot, holderId }: SlotState): string {
  return `${slot} ${holderId}`;
}

/** A view without actions leaves the column out. */
function actionText(): string {
  return document.body.classList.contains('read-only') ? NOTHING : 'Revoke';
}

function makeButton(
  cell: HTMLElement,
  revoke: (slot: SlotState) => void,
): (item: SlotState) => void {
  const attributes = { type: 'button', tabindex: '-1', class: 'small danger' };
  const button = element('button', attributes, 'Revoke');
  cell.append(button);
  let shown: SlotState | undefined;
  button.addEventListener('click', () => shown && revoke(shown));
  return (item) => {
    shown = item;
    setAttribute(button, 'aria-label', `Revoke slot ${item.slot} of ${item.label}`);
  };
}

function estimateText({ estimate }: QueuedRequest): string {
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

function shareText({ share }: GroupState): string {
  return percent(share);
}

function heldText({ held, limit }: GroupState): string {
  return limit === undefined ? count(held) : `${count(held)} / ${count(limit)}`;
}

function makeShare(cell: HTMLElement): (item: GroupState) => void {
  const bar = element('i');
  cell.append(bar);
  return ({ share }) => setProperty(bar, '--share', `${100 * share}%`);
}
