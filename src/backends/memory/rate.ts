import type { Costs, Policies, Rate, TicketRequest } from '../backend.js';
import * as gcra from '../gcra.js';
import { RATE } from '../gcra.js';
import { RATE_LIFE_MS } from '../protocol.js';
import type { Semaphore } from './semaphore.js';

/** The used units of a rate, or of a budget. */
export interface Meter extends gcra.KnownMeter {
  rate: Rate | undefined;
  until: number;
  arrivals: gcra.Arrivals;
  /** By how much all but time has moved its arrival time back. */
  returned: number;
}

type Counting = Meter & { readonly rate: Rate };

/** What a ticket was charged of one meter. */
interface Charge {
  readonly name: string;
  readonly price: number;
  /** When time has given it all back. */
  readonly due: number;
}

export type Charges = readonly Charge[];

type Priced = Pick<TicketRequest, 'permits' | 'cost'>;

/** Of most semaphores: these pay nothing. */
const NONE: readonly never[] = [];

function meterOf({ meters }: Semaphore, name: string): Meter {
  const known = meters.find((meter) => meter.name === name);
  if (known !== undefined) return known;
  const meter = { name, rate: undefined, until: 0, arrivals: gcra.NO_ARRIVALS, returned: 0 };
  meters.push(meter);
  return meter;
}

/** With its arrival time the ends of its tickets' charges move. */
function move(s: Semaphore, meter: Meter, arrivals: gcra.Arrivals): void {
  meter.returned += Math.max(0, meter.arrivals.tat - arrivals.tat);
  meter.arrivals = arrivals;
  s.lastUse = Math.max(s.lastUse, arrivals.tat / 1000);
}

/**
 * Lets new terms count. Units that were used under the terms before stay used. Undefined: no
 * request is held back.
 */
export function useMeter(s: Semaphore, name: string, rate: Rate | undefined, until: number): void {
  const meter = meterOf(s, name);
  const { arrivals } = meter;
  const unused = { tat: s.time, granted: s.time };
  move(s, meter, rate ? gcra.underRate(rate, meter.rate ?? rate, arrivals, s.time) : unused);
  meter.rate = rate;
  meter.until = until;
}

/** Forgets meters that count no more. Of held tickets they may still settle the charges. */
export function readMeters(s: Semaphore): void {
  for (const meter of s.meters) {
    const { arrivals } = meter;
    if (s.time < arrivals.granted) move(s, meter, gcra.onClockAt(s.time, arrivals));
  }
  if (s.meters.length === 0 || s.isBusy) return;
  s.meters = s.meters.filter(({ until, arrivals }) => Math.max(until, arrivals.tat) > s.time);
}

/** The rules that the caller was made with count unless others are stored. */
export function nameMeters(s: Semaphore, { rate, budgets = {} }: Policies): void {
  for (const [name, terms] of Object.entries(rate ? { [RATE]: rate, ...budgets } : budgets)) {
    const { rate: known, until } = meterOf(s, name);
    if (until === Infinity) continue;
    const { permits, per, burst } = terms;
    const isSame = known?.permits === permits && known.per === per && known.burst === burst;
    useMeter(s, name, terms, endOfTerms(s, isSame, until, Math.max(per, RATE_LIFE_MS)));
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
  for (const { name, arrivals, rate } of counting(s)) {
    const price = priceOf(r, name);
    if (price === 0) continue;
    const from = Math.max(arrivals.tat, s.time);
    allowed = Math.max(allowed, gcra.timeAllowed(rate, from, price));
  }
  return allowed;
}

export function charge(s: Semaphore, r: Priced): Charges {
  const meters = counting(s);
  if (meters === NONE) return NONE;
  return meters.flatMap((meter) => {
    const [{ name, rate, arrivals, returned }, price] = [meter, priceOf(r, meter.name)];
    if (price === 0) return [];
    move(s, meter, gcra.afterGrant(rate, arrivals, s.time, price));
    return { name, price, due: meter.arrivals.tat + returned };
  });
}

/**
 * A ticket has spent more or less than it was charged. A settlement gives back no unit that time
 * has given back: so no window has more than if the price had been right from the start.
 */
export function settlePrice(s: Semaphore, charges: Charges, spent: Costs): void {
  for (const meter of counting(s)) {
    const { name, rate, arrivals, returned } = meter;
    const { price, due } = charges.find((one) => one.name === name) ?? { price: 0, due: 0 };
    const change = (spent[name] ?? price) - price;
    const left = Math.max(0, Math.min(due - returned, arrivals.tat) - s.time);
    const back = Math.floor(Math.min(-change * gcra.intervalOf(rate), left));
    const more = gcra.afterGrant(rate, arrivals, s.time, change);
    move(s, meter, change > 0 ? more : { ...arrivals, tat: arrivals.tat - back });
  }
}
