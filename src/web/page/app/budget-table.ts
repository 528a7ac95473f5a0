import type { BudgetUse, Detail } from '../../api-types.js';
import { byId } from './dom.js';
import { count, duration } from './format.js';
import { Grid, number } from './grid.js';
import { makeBar } from './permits.js';

type Budget = [name: string, state: BudgetUse];

/** What is used of each budget. */
export class BudgetTable {
  readonly #budgets = new Grid<Budget>({
    id: 'budgets',
    keyOf: ([name]) => name,
    columns: [
      {
        name: 'text',
        title: 'Budget',
        width: 'minmax(4rem, 1fr)',
        text: ([name]) => name,
        tip: ([name, { amount, per }]) => `${name}: ${count(amount)} in ${duration(per)}`,
      },
      { name: 'spent', title: 'Used', width: '1.4fr', text: usedText, make: makeUsed },
      number('units', 'Units', '10.5rem', usedText),
    ],
  });

  show({ budgets }: Detail): void {
    const all = Object.entries(budgets);
    byId('budgets-card').hidden = all.length === 0;
    this.#budgets.show(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
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
