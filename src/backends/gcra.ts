import type { BudgetState, InspectReply, Policies, Rate, RateState } from './backend.js';

/**
 * The generic cell rate algorithm (ATM Forum, Traffic Management Specification 4.1, 1999;
 * https://brandur.org/rate-limiting), as `gcra.lua` has it: one number, the theoretical arrival
 * time, moves on by the interval with each permit. All in microseconds.
 */
export interface Arrivals {
  /** The theoretical arrival time of the next permit. */
  readonly tat: number;
  /** When the last one was granted, or the rate changed since. */
  readonly granted: number;
}

/** The name of the rate among the budgets. */
export const RATE = '';

export const NO_ARRIVALS: Arrivals = { tat: 0, granted: 0 };

/**
 * What a request that no rate ever allows again adds at most: 31 years, so that sums stay exact.
 */
const MOST_ADDED = 1e15;

/** Between two permits at a steady rate. */
export function intervalOf({ permits, per }: Rate): number {
  return microseconds(per) / permits;
}

/**
 * When the rate allows as many permits at once.
 * @param from the theoretical arrival time, or now if that is later
 */
export function timeAllowed(rate: Rate, from: number, permits: number): number {
  return from + Math.min(permits - rate.burst, 0) * intervalOf(rate);
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

/** What is known of the rate, or of a budget. */
export interface KnownMeter {
  /** Of the budget, or `RATE`. */
  readonly name: string;
  /** Undefined: it is stored that there is none. */
  readonly rate: Rate | undefined;
  /**
   * In microseconds; Infinity: the terms are stored. Callers that name none are free of them from
   * then on.
   */
  readonly until: number;
  readonly arrivals: Arrivals;
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
    meters.set(name, { name, rate, until: 0, arrivals: NO_ARRIVALS });
  }
  for (const meter of known) if (meter.until > now) meters.set(meter.name, meter);
  let rate: RateState | undefined;
  const budgets: Record<string, BudgetState> = {};
  for (const { name, rate: terms, until, arrivals } of meters.values()) {
    if (terms === undefined) continue;
    const { permits: amount, per, burst } = terms;
    const tat = Math.max(onClockAt(now, arrivals).tat, now);
    const nextIn = Math.max(0, timeAllowed(terms, tat, 1) - now) / 1000;
    const used = (tat - now) / intervalOf(terms);
    const isStored = until === Infinity;
    const from = until > 0 ? 'caller' : 'options';
    if (name === RATE) rate = { ...terms, from: isStored ? 'setRate' : from, nextIn };
    else budgets[name] = { amount, per, burst, from: isStored ? 'setBudget' : from, used };
  }
  return { ...(rate && { rate }), ...(Object.keys(budgets).length > 0 && { budgets }) };
}

export function microseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
