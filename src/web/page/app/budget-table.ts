import type { BudgetRow, Detail } from '../../api-types.js';
import { byId } from './dom.js';
import { count, duration } from './format.js';
import { Grid, number } from './grid.js';
import { makeBar } from './permits.js';

/** What is used of each budget. */
export class BudgetTable {
  readonly #budgets = new Grid<BudgetRow>({
    id: 'budgets',
    keyOf: ({ budget }) => budget,
    columns: [
      {
        name: 'text',
        title: 'Budget',
        width: 'minmax(4rem, 1fr)',
        text: ({ budget }) => budget,
        tip: ({ budget, amount, per }) => `${budget}: ${count(amount)} in ${duration(per)}`,
      },
      { name: 'spent', title: 'Used', width: 'minmax(3rem, 1.4fr)', text: usedText, make: makeUsed },
      number('units', 'Units', '10.5rem', usedText),
    ],
  });

  show({ budgets }: Detail): void {
    byId('budgets-card').hidden = budgets.length === 0;
    this.#budgets.show(budgets);
  }
}

function usedText({ used, burst }: BudgetRow): string {
  return `${count(Math.ceil(used))} / ${count(burst)}`;
}

function makeUsed(cell: HTMLElement): (budget: BudgetRow) => void {
  const showBar = makeBar(cell);
  return ({ used, burst }) => {
    const held = Math.ceil(used);
    showBar({ held, limit: burst, over: Math.max(0, held - burst) });
  };
}
