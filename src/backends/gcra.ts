import type { BudgetState, InspectReply, Policies, Rate, RateState } from './backend.js';
import { NEVER_US } from './protocol.js';

/**
 * The generic cell rate algorithm (ATM Forum, Traffic Management Specification 4.1, 1999;
 * https://brandur.org/rate-limiting), as `gcra.lua` has it: one number, the theoretical arrival
 * time, moves on by the interval with each permit. It never moves back: a meter has a time of its
 * own, which goes ahead of the server's time by what is given back. All in microseconds.
 */
export interface Used {
  /** The theoretical arrival time of the next permit, by the meter's time. */
  readonly tat: number;
  /** When the last one was granted, or the rate changed since. */
  readonly granted: number;
  /** By how much the meter's time is ahead of the server's. */
  readonly ahead: number;
}

/** The name of the rate among the budgets. */
export const RATE = '';

export const UNUSED: Used = { tat: 0, granted: 0, ahead: 0 };

/**
 * What a request that no rate ever allows again, or a change of terms, adds at most: 31 years, so
 * that sums stay exact.
 */
export const MOST_ADDED: number = 1e15;

/** Between two permits at a steady rate. */
export function intervalOf({ permits, per }: Rate): number {
  return microseconds(per) / permits;
}

/**
 * The meter's time. If the clock was set back, it continues from the last grant: the wait is as
 * long as it was then.
 */
export function timeOf({ granted, ahead }: Used, now: number): number {
  return Math.max(granted, now) + ahead;
}

/** How long until all that was used has come back. */
export function leftOf(used: Used, now: number): number {
  return Math.max(0, used.tat - timeOf(used, now));
}

/**
 * After how long the rate allows as many permits at once.
 * @param left how long until all that was used has come back
 */
export function timeAllowed(rate: Rate, left: number, permits: number): number {
  return left + Math.min(permits - rate.burst, 0) * intervalOf(rate);
}

/**
 * The arrival time after a grant at the meter's `time`: whole microseconds, rounded up, so that no
 * window has one permit more.
 */
export function afterGrant(rate: Rate, tat: number, time: number, permits: number): number {
  return Math.ceil(Math.max(tat, time) + Math.min(permits * intervalOf(rate), MOST_ADDED));
}

/** What is known of the rate, or of a budget. */
export interface KnownMeter extends Used {
  /** Of the budget, or `RATE`. */
  readonly name: string;
  /** Undefined: it is stored that there is none. */
  readonly rate: Rate | undefined;
  /**
   * In microseconds; `NEVER_US` or later: the terms are stored. Callers that name none are free of
   * them from then on.
   */
  readonly until: number;
}

/**
 * The rate and the budgets that count: of the caller's options where no call has named others.
 * @param now in microseconds
 */
export function metersShown(
  known: readonly KnownMeter[],
  { rate: own, budgets: others }: Policies,
  now: number,
): Pick<InspectReply, 'rate' | 'budgets'> {
  const meters = new Map<string, KnownMeter>();
  for (const [name, rate] of Object.entries({ ...(own && { [RATE]: own }), ...others })) {
    meters.set(name, { name, rate, until: 0, ...UNUSED });
  }
  for (const meter of known) if (meter.until > now) meters.set(meter.name, meter);
  let rate: RateState | undefined;
  // An assignment to the name '__proto__' would add no budget.
  const found = new Map<string, BudgetState>();
  for (const meter of meters.values()) {
    const { name, rate: terms, until } = meter;
    if (terms === undefined) continue;
    const { permits: amount, per, burst } = terms;
    const left = leftOf(meter, now);
    const nextIn = Math.max(0, timeAllowed(terms, left, 1)) / 1000;
    const used = left / intervalOf(terms);
    const isStored = until >= NEVER_US;
    const from = until > 0 ? 'caller' : 'options';
    if (name === RATE) rate = { ...terms, from: isStored ? 'setRate' : from, nextIn };
    else found.set(name, { amount, per, burst, from: isStored ? 'setBudget' : from, used });
  }
  return { ...(rate && { rate }), ...(found.size > 0 && { budgets: Object.fromEntries(found) }) };
}

export function microseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
