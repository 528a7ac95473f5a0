import type { Rate, RateState } from '../backend.js';
import * as gcra from '../gcra.js';
import { RATE_LIFE_MS } from '../protocol.js';
import type { Semaphore } from './semaphore.js';

/** What was used of a rate. */
export interface KnownRate {
  /** Undefined: it is stored that there is none. */
  readonly rate: Rate | undefined;
  /** Undefined: `setRate` stored it. Else callers that name none are free of it from then on. */
  readonly until: number | undefined;
  readonly arrivals: gcra.Arrivals;
}

/** Takes a rate as the one that counts. What was used of the one before stays used. */
function useRate(s: Semaphore, rate: Rate, until: number | undefined): void {
  const { rate: before = rate, arrivals = gcra.NO_ARRIVALS } = s.rate ?? {};
  s.rate = { rate, until, arrivals: gcra.underRate(rate, before, arrivals, s.time) };
}

export function readRate(s: Semaphore, read: KnownRate): void {
  if (s.time >= read.arrivals.granted) return;
  s.rate = { ...read, arrivals: gcra.onClockAt(s.time, read.arrivals) };
}

/** The caller's rate counts where none is stored. */
export function nameRate(s: Semaphore, rate: Rate): void {
  const known = s.rate ?? { rate: undefined, until: 0 };
  if (known.until === undefined) return;
  const life = gcra.microseconds(Math.max(rate.per, RATE_LIFE_MS));
  const isFresh = isSame(known.rate, rate) && known.until - s.time >= life / 2;
  useRate(s, rate, isFresh ? known.until : s.time + life);
}

function isSame(one: Rate | undefined, other: Rate): boolean {
  return one?.permits === other.permits && one.per === other.per && one.burst === other.burst;
}

/** Undefined: no request is held back, whatever rate callers name. */
export function storeRate(s: Semaphore, rate: Rate | undefined): void {
  if (rate !== undefined) useRate(s, rate, undefined);
  else s.rate = { rate, until: undefined, arrivals: gcra.NO_ARRIVALS };
}

/** A rate that no caller has named for long is over. */
function counting(known: KnownRate | undefined, time: number): KnownRate | undefined {
  return (known?.until ?? Infinity) > time ? known : undefined;
}

/** When the rate allows as many permits at once, behind `ahead` other requests no earlier. */
export function rateTime({ rate: known, time }: Semaphore, permits: number, ahead = 0): number {
  const { rate, arrivals = gcra.NO_ARRIVALS } = counting(known, time) ?? {};
  return rate ? gcra.timeAllowed(rate, arrivals, time, permits, ahead) : -Infinity;
}

export function chargeRate(s: Semaphore, permits: number): void {
  const known = counting(s.rate, s.time);
  if (known?.rate === undefined) return;
  s.rate = { ...known, arrivals: gcra.afterGrant(known.rate, known.arrivals, s.time, permits) };
}

/** As `inspect` has it. */
export function showRate(s: Semaphore, own: Rate | undefined, now: number): RateState | undefined {
  const time = gcra.microseconds(now);
  const known = counting(s.rate, time);
  if (known === undefined) return gcra.unasked(own);
  if (known.rate === undefined) return undefined;
  const arrivals = gcra.onClockAt(time, known.arrivals);
  const next = gcra.timeAllowed(known.rate, arrivals, time, 1, 0);
  const from = known.until === undefined ? 'setRate' : 'caller';
  return { ...known.rate, from, nextIn: Math.max(0, next - time) / 1000 };
}
