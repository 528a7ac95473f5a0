import type { BudgetState, Budgets, Costs, Rate, RateState } from '../backend.js';
import * as gcra from '../gcra.js';
import { RATE_LIFE_MS } from '../protocol.js';
import type { Semaphore } from './semaphore.js';

/** The used units of a rate, or of a budget. */
export interface Meter {
  /** Undefined: stored by `setRate(undefined)`. */
  readonly rate: Rate | undefined;
  /** Undefined: the terms are stored. Else callers that name none are free of them from then on. */
  readonly until: number | undefined;
  readonly arrivals: gcra.Arrivals;
  /** By how much all but time has moved its arrival time back. */
  readonly returned: number;
}

/** A budget that counts. */
export interface Charge {
  readonly price: number;
  /** When time has given it all back. */
  readonly due: number;
}

/** By the name of each budget; undefined: none. */
export type Charges = ReadonlyMap<string, Charge> | undefined;

interface Priced {
  readonly permits: number;
  readonly cost?: Costs | undefined;
}

/** The name of the rate among the budgets. */
export const RATE = '';

const UNUSED: Meter = { rate: undefined, until: 0, arrivals: gcra.NO_ARRIVALS, returned: 0 };

type Named = readonly [string, Meter];
type Counting = readonly [string, Meter, Rate];

/** Of most semaphores: these pay nothing. */
const NONE: readonly never[] = [];

export function metersOf({ rate, budgets }: Semaphore): Iterable<Named> {
  if (rate === undefined) return budgets ?? NONE;
  return [[RATE, rate], ...(budgets ?? NONE)];
}

function meterOf({ rate, budgets }: Semaphore, name: string): Meter {
  return (name === RATE ? rate : budgets?.get(name)) ?? UNUSED;
}

function setMeter(s: Semaphore, name: string, meter: Meter): void {
  if (name === RATE) s.rate = meter;
  else (s.budgets ??= new Map()).set(name, meter);
}

/** With its arrival time the ends of its tickets' charges move. */
function moved(meter: Meter, arrivals: gcra.Arrivals): Meter {
  const returned = meter.returned + Math.max(0, meter.arrivals.tat - arrivals.tat);
  return { ...meter, arrivals, returned };
}

/** Lets new terms count. Units that were used under the terms before stay used. */
function useMeter(s: Semaphore, name: string, rate: Rate, until: number | undefined): void {
  const known = meterOf(s, name);
  const arrivals = gcra.underRate(rate, known.rate ?? rate, known.arrivals, s.time);
  setMeter(s, name, { ...moved(known, arrivals), rate, until });
}

export function readMeters(s: Semaphore): void {
  for (const [name, meter] of metersOf(s)) {
    const { arrivals } = meter;
    if (s.time < arrivals.granted)
      setMeter(s, name, moved(meter, gcra.onClockAt(s.time, arrivals)));
  }
}

/** The rules that the caller was made with count unless others are stored. */
export function nameMeters(s: Semaphore, rate: Rate | undefined, budgets: Budgets = {}): void {
  if (rate !== undefined) nameMeter(s, RATE, rate);
  for (const [name, budget] of Object.entries(budgets)) nameMeter(s, name, budget);
}

function nameMeter(s: Semaphore, name: string, rate: Rate): void {
  const known = meterOf(s, name);
  if (known.until === undefined) return;
  const life = gcra.microseconds(Math.max(rate.per, RATE_LIFE_MS));
  const isFresh = isSame(known.rate, rate) && known.until - s.time >= life / 2;
  useMeter(s, name, rate, isFresh ? known.until : s.time + life);
}

function isSame(one: Rate | undefined, other: Rate): boolean {
  return one?.permits === other.permits && one.per === other.per && one.burst === other.burst;
}

/** Undefined: no request is held back, whatever callers name. */
export function storeMeter(s: Semaphore, name: string, rate: Rate | undefined): void {
  if (rate !== undefined) return useMeter(s, name, rate, undefined);
  const { returned } = moved(meterOf(s, name), { tat: s.time, granted: s.time });
  setMeter(s, name, { ...UNUSED, until: undefined, returned });
}

/** The meters that count now: a meter that no caller has named for long is over. */
function counting(s: Semaphore, time: number): readonly Counting[] {
  const meters = metersOf(s);
  if (meters === NONE) return NONE;
  return Array.from(meters).flatMap(([name, meter]): Counting[] => {
    const { rate, until = Infinity } = meter;
    return rate !== undefined && until > time ? [[name, meter, rate]] : [];
  });
}

/** The names of the budgets that count. */
export function budgetsCounted(s: Semaphore): string[] {
  const names = counting(s, s.time).map(([name]) => name);
  return names.filter((name) => name !== RATE).toSorted();
}

/** Whether a budget counts. */
export function isPriced(s: Semaphore): boolean {
  return counting(s, s.time).some(([name]) => name !== RATE);
}

function priceOf({ permits, cost }: Priced, name: string): number {
  return name === RATE ? permits : (cost?.[name] ?? 0);
}

/**
 * When the rate and all budgets allow a request. By the rate behind `ahead` other requests no
 * earlier.
 */
export function payTime(s: Semaphore, r: Priced, ahead = 0): number {
  let allowed = -Infinity;
  for (const [name, { arrivals }, rate] of counting(s, s.time)) {
    const price = priceOf(r, name);
    if (price === 0) continue;
    const before = name === RATE ? ahead : 0;
    allowed = Math.max(allowed, gcra.timeAllowed(rate, arrivals, s.time, price, before));
  }
  return allowed;
}

export function charge(s: Semaphore, r: Priced): Charges {
  let charged: Map<string, Charge> | undefined;
  for (const [name, meter, rate] of counting(s, s.time)) {
    const price = priceOf(r, name);
    if (price === 0) continue;
    const arrivals = gcra.afterGrant(rate, meter.arrivals, s.time, price);
    setMeter(s, name, { ...meter, arrivals });
    const due = arrivals.tat + meter.returned;
    if (name !== RATE) (charged ??= new Map<string, Charge>()).set(name, { price, due });
  }
  return charged;
}

/**
 * A ticket has spent more or less than it was charged. A settlement gives back no unit that time
 * has given back: so no window has more than if the price had been right from the start.
 */
export function settlePrice(s: Semaphore, charged: Charges, spent: Costs): void {
  for (const [name, meter, rate] of counting(s, s.time)) {
    const { price, due } = charged?.get(name) ?? { price: 0, due: 0 };
    const change = (spent[name] ?? price) - price;
    const { arrivals, returned } = meter;
    const left = Math.max(0, Math.min(due - returned, arrivals.tat) - s.time);
    const back = Math.floor(Math.min(-change * gcra.intervalOf(rate), left));
    const more = gcra.afterGrant(rate, arrivals, s.time, change);
    setMeter(s, name, moved(meter, change > 0 ? more : { ...arrivals, tat: arrivals.tat - back }));
  }
}

/** As `inspect` has it. */
export function showRate(s: Semaphore, own: Rate | undefined, now: number): RateState | undefined {
  const time = gcra.microseconds(now);
  const known = s.rate;
  if (known === undefined || (known.until ?? Infinity) <= time) return gcra.unasked(own);
  if (known.rate === undefined) return undefined;
  const arrivals = gcra.onClockAt(time, known.arrivals);
  const next = gcra.timeAllowed(known.rate, arrivals, time, 1, 0);
  const from = known.until === undefined ? 'setRate' : 'caller';
  return { ...known.rate, from, nextIn: Math.max(0, next - time) / 1000 };
}

/** As `inspect` has them. */
export function showBudgets(s: Semaphore, now: number): Map<string, BudgetState | null> {
  const time = gcra.microseconds(now);
  const shown = new Map<string, BudgetState | null>();
  for (const [name, { rate, until, arrivals }] of s.budgets ?? NONE) {
    if ((until ?? Infinity) <= time) continue;
    const from = until === undefined ? 'setBudget' : 'caller';
    shown.set(name, rate === undefined ? null : gcra.budgetState(rate, arrivals, time, from));
  }
  return shown;
}
