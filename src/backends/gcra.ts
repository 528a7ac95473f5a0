import type { BudgetState, Budgets, Rate, RateState } from './backend.js';

/**
 * The generic cell rate algorithm (ATM Forum, Traffic Management Specification 4.1, 1999;
 * https://brandur.org/rate-limiting), as `rate.lua` has it: one number, the theoretical arrival
 * time, moves on by the interval with each permit. All in microseconds.
 */
export interface Arrivals {
  /** The theoretical arrival time of the next permit. */
  readonly tat: number;
  /** When the last one was granted, or the rate changed since. */
  readonly granted: number;
}

export const NO_ARRIVALS: Arrivals = { tat: 0, granted: 0 };

/**
 * What a request that no rate ever allows again adds at most: 31 years, so that sums stay exact.
 */
const MOST_ADDED = 1e15;

/** Between two permits at a steady rate. */
export function intervalOf({ permits, per }: Rate): number {
  return microseconds(per) / permits;
}

/** When the rate allows as many permits at once, behind `ahead` other requests no earlier. */
export function timeAllowed(
  rate: Rate,
  { tat }: Arrivals,
  now: number,
  permits: number,
  ahead: number,
): number {
  const from = Math.max(tat, now);
  return from + (ahead + permits - Math.max(rate.burst, permits)) * intervalOf(rate);
}

/** Whole microseconds, rounded up, so that no window has one permit more. */
export function afterGrant(rate: Rate, { tat }: Arrivals, now: number, permits: number): Arrivals {
  const added = Math.min(permits * intervalOf(rate), MOST_ADDED);
  return { tat: Math.ceil(Math.max(tat, now) + added), granted: now };
}

/**
 * A clock that was set back, which shows by an earlier grant: the wait is as long as it was then,
 * not until the clock is where it was.
 */
export function onClockAt(now: number, { tat, granted }: Arrivals): Arrivals {
  return now < granted ? { tat: tat - (granted - now), granted: now } : { tat, granted };
}

/** What was used of one rate stays used under another. */
export function underRate(to: Rate, from: Rate, { tat, granted }: Arrivals, now: number): Arrivals {
  const [next, before] = [intervalOf(to), intervalOf(from)];
  if (next === before || tat <= granted) return { tat, granted };
  return { tat: Math.ceil(now + (Math.max(tat - now, 0) * next) / before), granted: now };
}

/** The rate of an option, before the first request under it. */
export function unasked(rate: Rate | undefined): RateState | undefined {
  return rate && { ...rate, from: 'options', nextIn: 0 };
}

type From = BudgetState['from'];

/** @param now in microseconds */
export function budgetState(rate: Rate, arrivals: Arrivals, now: number, from: From): BudgetState {
  const { permits: amount, per, burst } = rate;
  const left = Math.max(0, onClockAt(now, arrivals).tat - now);
  return { amount, per, burst, from, used: left / intervalOf(rate) };
}

/**
 * Adds the budgets of the options that no request has named yet. `known`: null where it is stored
 * that there is none.
 */
export function budgetsShown(
  known: ReadonlyMap<string, BudgetState | null>,
  own: Budgets = {},
): { readonly budgets?: Readonly<Record<string, BudgetState>> } {
  const all = new Map(known);
  for (const [name, rate] of Object.entries(own)) {
    if (!all.has(name)) all.set(name, budgetState(rate, NO_ARRIVALS, 0, 'options'));
  }
  const counting = [...all].filter((one): one is [string, BudgetState] => one[1] !== null);
  return counting.length === 0 ? {} : { budgets: Object.fromEntries(counting) };
}

export function microseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
