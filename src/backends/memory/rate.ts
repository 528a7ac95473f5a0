import type { Costs, Policies, Rate, TicketRequest } from '../backend.js';
import * as gcra from '../gcra.js';
import { RATE } from '../gcra.js';
import { NEVER_US, RATE_LIFE_MS } from '../protocol.js';
import type { Semaphore } from './semaphore.js';

/** The used units of a rate, or of a budget. */
export type Meter = { -readonly [Field in keyof gcra.KnownMeter]: gcra.KnownMeter[Field] };

type Counting = Meter & { readonly rate: Rate };

/** What a ticket was charged of one meter. */
interface Charge {
  readonly name: string;
  readonly price: number;
  /** The meter's time when time has given it all back. */
  readonly due: number;
}

export type Charges = readonly Charge[];

type Priced = Pick<TicketRequest, 'permits' | 'cost'>;

/** Of most semaphores: these pay nothing. */
const NONE: readonly never[] = [];

function meterOf({ meters }: Semaphore, name: string): Meter {
  const known = meters.find((meter) => meter.name === name);
  if (known !== undefined) return known;
  const meter = { name, rate: undefined, until: 0, ...gcra.UNUSED };
  meters.push(meter);
  return meter;
}

/** `time`: of the meter. */
function move(s: Semaphore, meter: Meter, tat: number, time: number): void {
  meter.tat = tat;
  meter.granted = s.time;
  meter.ahead = time - s.time;
  s.lastUse = Math.max(s.lastUse, (s.time + tat - time) / 1000);
}

/**
 * Lets new terms count. Units that were used under the terms before stay used. Undefined: no
 * request is held back, and all units are given back. The meter's time never goes back, for the
 * charges of tickets.
 */
export function useMeter(s: Semaphore, name: string, rate: Rate | undefined, until: number): void {
  const meter = meterOf(s, name);
  const slower = rate ? gcra.intervalOf(rate) / gcra.intervalOf(meter.rate ?? rate) : 0;
  const used = gcra.leftOf(meter, s.time);
  const left = Math.ceil(Math.min(used * slower, Math.max(used, gcra.MOST_ADDED)));
  const time = gcra.timeOf(meter, s.time);
  const tat = Math.max(meter.tat, time + left);
  // Debts of centuries make the numbers inexact.
  move(s, meter, tat, Math.max(tat - left, time));
  meter.rate = rate;
  meter.until = until;
}

/** Forgets meters that count no more. Of held tickets they may still settle the charges. */
export function readMeters(s: Semaphore): void {
  for (const meter of s.meters) {
    if (s.time < meter.granted) move(s, meter, meter.tat, gcra.timeOf(meter, s.time));
  }
  if (s.meters.length === 0 || s.isBusy) return;
  s.meters = s.meters.filter((meter) => meter.until > s.time || gcra.leftOf(meter, s.time) > 0);
}

/** The rules that the caller was made with count unless others are stored. */
export function nameMeters(s: Semaphore, { rate, budgets = {} }: Policies): void {
  for (const [name, terms] of Object.entries(rate ? { [RATE]: rate, ...budgets } : budgets)) {
    const { rate: known, until } = meterOf(s, name);
    if (until === Infinity) continue;
    const { permits, per, burst } = terms;
    const isSame = known?.permits === permits && known.per === per && known.burst === burst;
    const end = endOfTerms(s, isSame, until, Math.max(per, RATE_LIFE_MS));
    if (!isSame || end !== until) useMeter(s, name, terms, end);
  }
}

/** Until when terms count that a caller names, and that counted until then if they are the same. */
export function endOfTerms(s: Semaphore, isSame: boolean, until: number, life: number): number {
  const end = s.time + gcra.microseconds(life);
  return isSame && until - s.time >= (end - s.time) / 2 ? until : end;
}

/** The meters that count now: a meter that no caller has named for long is over. */
function counting({ meters, time }: Semaphore): readonly Counting[] {
  if (meters.length === 0) return NONE;
  return meters.filter((one): one is Counting => one.rate !== undefined && one.until > time);
}

/** The names of the budgets that count. */
export function budgetsCounted(s: Semaphore): string[] {
  const names = counting(s).map(({ name }) => name);
  return names.filter((name) => name !== RATE).toSorted();
}

function priceOf({ permits, cost }: Priced, name: string): number {
  return name === RATE ? permits : (cost?.[name] ?? 0);
}

/** When the rate and all budgets allow a request. */
export function payTime(s: Semaphore, r: Priced): number {
  let allowed = -Infinity;
  for (const meter of counting(s)) {
    const { name, rate } = meter;
    const price = priceOf(r, name);
    if (price === 0) continue;
    allowed = Math.max(allowed, gcra.timeAllowed(rate, s.time + gcra.leftOf(meter, s.time), price));
  }
  return allowed;
}

export function charge(s: Semaphore, r: Priced): Charges {
  const meters = counting(s);
  if (meters === NONE) return NONE;
  return meters.flatMap((meter) => {
    const { name, rate, tat } = meter;
    const [price, time] = [priceOf(r, name), gcra.timeOf(meter, s.time)];
    if (price === 0) return [];
    move(s, meter, gcra.afterGrant(rate, tat, time, price), time);
    return { name, price, due: meter.tat };
  });
}

/**
 * A ticket has spent more or less than it was charged. A settlement gives back no unit that time
 * has given back: so no window has more than if the price had been right from the start.
 */
export function settlePrice(s: Semaphore, charges: Charges, spent: Costs): void {
  for (const meter of counting(s)) {
    const { name, rate, tat } = meter;
    const { price, due } = charges.find((one) => one.name === name) ?? { price: 0, due: 0 };
    const time = gcra.timeOf(meter, s.time);
    // A debt of 285 years grows no more: a server could not count it.
    const change = Math.min((spent[name] ?? price) - price, tat - time < NEVER_US ? Infinity : 0);
    const left = Math.max(0, due - time);
    if (change > 0) move(s, meter, gcra.afterGrant(rate, tat, time, change), time);
    else meter.ahead += Math.floor(Math.min(-change * gcra.intervalOf(rate), left));
  }
}
