import { quoted } from '../arguments/shown.js';
import type { BudgetOptions, BudgetState } from '../index.js';
import { UsageError } from './failure.js';
import { parseRate, showRate } from './rate.js';

/** `90000/m`, as a rate is given. */
export function parseBudget(what: string, text: string, burst?: number): BudgetOptions {
  const { permits: amount, per } = parseRate(what, text, undefined);
  return { amount, per, ...(burst !== undefined && { burst }) };
}

/** `90000/m, 3120 of 90000 used`. */
export function showBudget({ amount, per, burst, used }: BudgetState): string {
  return `${showRate({ permits: amount, per, burst: 1 })}, ${Math.ceil(used)} of ${burst} used`;
}

/** `NAME=VALUE` of options that may be given several times. */
export function namedValues<V>(
  option: string,
  texts: readonly string[],
  valueOf: (text: string) => V,
): Record<string, V> | undefined {
  if (texts.length === 0) return undefined;
  const entries = texts.map((text): [string, V] => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, valueOf(value)];
    throw new UsageError(
      `${option}: expected a name and a value as in tokens=4000, got ${quoted(text)}`,
    );
  });
  return Object.fromEntries(entries);
}
