import type { Budgets, Costs, Rate } from '../backends/backend.js';
import { MOST_BUDGETS } from '../backends/protocol.js';
import type { OptionNames } from './known-options.js';
import { checkOptions, optionNames } from './known-options.js';
import { integer } from './numbers.js';
import { formatValue } from './shown.js';
import { rangeError, typeError } from './validation.js';

/**
 * One of the option `budgets`, kept as a rate is: no window of `per` milliseconds is charged more
 * than `amount + burst`, or than `amount` and the largest cost, by the server's clock. A cost above
 * the burst is granted when the budget is full, and charged in full.
 */
export interface BudgetOptions {
  /** How many units in a period: an integer, minimum 1. */
  readonly amount: number;
  /** The period in milliseconds: an integer, 1 to 31 536 000 000 (365 days). */
  readonly per: number;
  /** How many units at once after a pause: an integer, minimum 1. Default: `amount`. */
  readonly burst?: number | undefined;
}

const BUDGET_OPTIONS: OptionNames = optionNames('amount per burst');
/** 365 days, in milliseconds. */
const LONGEST_PERIOD = 31_536_000_000;

export function checkBudgetName(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[\w.-]{1,32}$/.test(name)) return name;
  throw typeError(
    `${option}: expected a name of 1 to 32 letters, digits and _ . -, got ${formatValue(name)}`,
  );
}

/** `known`: the budgets of the semaphore. */
export function checkBudgetRoom(semaphore: string, known: readonly string[], name: string): void {
  if (known.length < MOST_BUDGETS || known.includes(name)) return;
  throw rangeError(
    `name: expected a budget among the ${known.length} of ${JSON.stringify(semaphore)}, which are as many as may count (${known.join(', ')}), got ${JSON.stringify(name)}`,
  );
}

/** `option`: what messages call it. */
export function resolveBudget(option: string, given: BudgetOptions): Rate {
  checkOptions(given, BUDGET_OPTIONS, option, 'an object such as { amount: 90_000, per: 60_000 }');
  const permits = integer(`${option}.amount`, given.amount, 1);
  const per = integer(`${option}.per`, given.per, 1, LONGEST_PERIOD);
  return { permits, per, burst: integer(`${option}.burst`, given.burst ?? permits, 1) };
}

export function resolveBudgets(
  given: Readonly<Record<string, BudgetOptions>> | undefined,
): Budgets | undefined {
  if (given === undefined) return undefined;
  const entries = entriesOf('budgets', given).map(([name, budget]): [string, Rate] => {
    return [checkBudgetName('budgets', name), resolveBudget(`budgets.${name}`, budget)];
  });
  if (entries.length <= MOST_BUDGETS) return named(entries);
  throw rangeError(`budgets: expected at most ${MOST_BUDGETS}, got ${entries.length}`);
}

/** What a request costs, or a ticket has spent. `known`: the names that there are, if given. */
export function resolveCosts(
  option: string,
  given: Readonly<Record<string, number>> | undefined,
  known?: Budgets,
): Costs | undefined {
  if (given === undefined) return undefined;
  const entries = entriesOf(option, given).map(([name, units]): [string, number] => {
    checkBudgetName(option, name);
    if (known !== undefined && !Object.hasOwn(known, name)) {
      const names = Object.keys(known).join(', ');
      throw typeError(
        `${option}.${name}: expected a name among budgets (${names}), got ${formatValue(units)}`,
      );
    }
    return [name, integer(`${option}.${name}`, units, 0)];
  });
  if (entries.length === 0) return undefined;
  if (entries.length <= MOST_BUDGETS) return named(entries);
  throw rangeError(`${option}: expected at most ${MOST_BUDGETS} budgets, got ${entries.length}`);
}

function entriesOf<V>(option: string, given: Readonly<Record<string, V>>): [string, V][] {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
    return Object.entries(given).filter(([, value]) => value !== undefined);
  }
  throw typeError(`${option}: expected an object by names of budgets, got ${formatValue(given)}`);
}

/** Without a prototype: each name is a budget's. */
function named<V>(entries: readonly [string, V][]): Readonly<Record<string, V>> {
  const record: Record<string, V> = Object.fromEntries(entries);
  Object.setPrototypeOf(record, null);
  return record;
}
