import type { Budgets, Costs, Rate } from '../backends/backend.js';
import { MOST_BUDGETS } from '../backends/protocol.js';
import { checkOptions } from './known-options.js';
import { integer } from './numbers.js';
import { checkType, rangeError } from './validation.js';

/**
 * A budget of the option `budgets`. By the server's clock, no period of `per` milliseconds is
 * charged more than `amount + burst` (or `amount` and the largest cost, if that is more). A request
 * that costs more than the burst is granted when the budget is full, and charged in full.
 */
export interface BudgetOptions {
  /** How many units may be spent in a period: an integer, minimum 1. */
  readonly amount: number;
  /** The period in milliseconds: an integer, 1 to 31 536 000 000 (365 days). */
  readonly per: number;
  /**
   * How many units may be spent at once after a pause: an integer, minimum 1. Default: `amount`.
   */
  readonly burst?: number | undefined;
}

const EXPECTED = 'an object such as { amount: 90_000, per: 60_000 }';
/** 365 days, in milliseconds. */
export const LONGEST_PERIOD = 31_536_000_000;

export function checkBudgetName(option: string, name: unknown): void {
  const fits = typeof name === 'string' && /^[\w.-]{1,32}$/.test(name);
  checkType(fits, option, 'a name of 1 to 32 letters, digits and _ . -', name);
}

/** `known`: the budgets of the semaphore. */
export function checkBudgetRoom(semaphore: string, known: readonly string[], name: string): void {
  if (known.length < MOST_BUDGETS || known.includes(name)) return;
  throw rangeError(
    `name: expected a budget among the ${known.length} of ${JSON.stringify(semaphore)}, which are as many as may count (${known.join(', ')}), got ${JSON.stringify(name)}`,
  );
}

/** `option`: its name in messages. */
export function resolveBudget(option: string, given: BudgetOptions): Rate {
  checkOptions(given, 'amount per burst', option, EXPECTED);
  const permits = integer(`${option}.amount`, given.amount, 1);
  const per = integer(`${option}.per`, given.per, 1, LONGEST_PERIOD);
  return { permits, per, burst: integer(`${option}.burst`, given.burst ?? permits, 1) };
}

/**
 * The cost of a request, or the units that a ticket has spent. `known`: the names that are allowed;
 * undefined: any.
 */
export function resolveCosts(
  option: string,
  given: Readonly<Record<string, number>> | undefined,
  known?: Budgets,
): Costs | undefined {
  if (given === undefined) return undefined;
  const costs = byBudget(option, given, (name, units) => {
    const isKnown = known === undefined || Object.hasOwn(known, name.slice(option.length + 1));
    const names = Object.keys(known ?? {}).join(', ');
    checkType(isKnown, name, `a name among budgets (${names})`, units);
    return integer(name, units, 0);
  });
  return Object.keys(costs).length === 0 ? undefined : costs;
}

/** Without a prototype, so that every name in it is the name of a budget. */
export function byBudget<Given, Resolved>(
  option: string,
  given: Readonly<Record<string, Given>>,
  resolve: (option: string, value: Given) => Resolved,
): Readonly<Record<string, Resolved>> {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  checkType(isObject, option, 'an object by names of budgets', given);
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  if (entries.length > MOST_BUDGETS) {
    const what = option === 'budgets' ? '' : ' budgets';
    throw rangeError(`${option}: expected at most ${MOST_BUDGETS}${what}, got ${entries.length}`);
  }
  const record: Record<string, Resolved> = {};
  Object.setPrototypeOf(record, null);
  for (const [name, value] of entries) {
    checkBudgetName(option, name);
    record[name] = resolve(`${option}.${name}`, value);
  }
  return record;
}
