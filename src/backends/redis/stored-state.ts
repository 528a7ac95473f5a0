import type * as port from '../backend.js';
import { budgetState, microseconds, onClockAt, timeAllowed } from '../gcra.js';
import { UnexpectedReplyError } from './wire-text.js';

/** What the field `state` of a semaphore says, see `close.lua`. */
export interface StoredState {
  /** Undefined where nothing is known. */
  readonly limit: { readonly limit: number; readonly limitFrom: 'setLimit' | 'caller' } | undefined;
  /** Null where it is stored that there is none, undefined where nothing is known. */
  readonly rate: port.RateState | null | undefined;
  /** By name; null where it is stored that there is none. */
  readonly budgets: ReadonlyMap<string, port.BudgetState | null>;
  /** Null where it is stored that there is none, undefined where nothing is known. */
  readonly groupLimit: number | null | undefined;
  /** The virtual time of a priority. */
  readonly timeOf: (priority: number) => number;
}

/** @param now server time in milliseconds */
export function readState(text: string, now: number): StoredState {
  const [, caller] = /^\d{16} (\d{1,16})(?= |$)/.exec(text) ?? [];
  const valueOf = (word: string | number) => new RegExp(` ${word}:(\\S+)`).exec(text)?.[1];
  const stored = valueOf('stored');
  const limit = Number(stored ?? caller);
  const limitFrom = stored === undefined ? 'caller' : 'setLimit';
  return {
    limit: caller === undefined ? undefined : { limit, limitFrom },
    rate: rateOf(valueOf('rate') ?? '', microseconds(now)),
    budgets: budgetsOf(text, microseconds(now)),
    groupLimit: capOf(valueOf('cap') ?? '', microseconds(now)),
    timeOf: (priority) => Number(valueOf(priority) ?? 0),
  };
}

/** `permits,until`, see `caps.lua`. */
function capOf(text: string, now: number): number | null | undefined {
  if (text === 'none') return null;
  const [permits, until = 0] = text.split(',').map(Number);
  return text === '' || (until > 0 && until <= now) ? undefined : permits;
}

function budgetsOf(text: string, now: number): Map<string, port.BudgetState | null> {
  const budgets = new Map<string, port.BudgetState | null>();
  for (const [, name = '', rate = ''] of text.matchAll(/ budget:([^,]+),(\S+)/g)) {
    const meter = meterOf(rate, now);
    const from = meter?.until === 0 ? 'setBudget' : 'caller';
    if (rate.startsWith('none')) budgets.set(name, null);
    else if (meter) budgets.set(name, budgetState(meter.rate, meter, now, from));
  }
  return budgets;
}

/** `permits,period,burst,until,tat,granted,returned`, see `rate.lua`. */
const METER = /^(?:\d{1,16},){3}\d{0,16}(?:,\d{1,16}){3}$/;

function rateOf(text: string, now: number): port.RateState | null | undefined {
  if (text.startsWith('none')) return null;
  const meter = meterOf(text, now);
  if (meter === undefined) return undefined;
  const next = timeAllowed(meter.rate, onClockAt(now, meter), now, 1, 0);
  const from = meter.until === 0 ? 'setRate' : 'caller';
  return { ...meter.rate, from, nextIn: Math.max(0, next - now) / 1000 };
}

/** Undefined where it counts no more. */
function meterOf(text: string, now: number) {
  if (text === '' || text.startsWith('none')) return undefined;
  if (!METER.test(text)) throw new UnexpectedReplyError('inspect', text);
  const numbers = text.split(',').map(Number);
  const [permits = 0, period = 0, burst = 0, until = 0, tat = 0, granted = 0] = numbers;
  if (until > 0 && until <= now) return undefined;
  return { rate: { permits, per: period / 1000, burst }, until, tat, granted };
}
