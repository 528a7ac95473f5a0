import { type KnownMeter, microseconds, NO_ARRIVALS, RATE } from '../gcra.js';
import { UnexpectedReplyError } from './wire-text.js';

/** What the field `state` of a semaphore says, see `close.lua`. */
export interface StoredState {
  /** Undefined where nothing is known. */
  readonly limit: { readonly limit: number; readonly limitFrom: 'setLimit' | 'caller' } | undefined;
  /** The rate and the budgets. */
  readonly meters: readonly KnownMeter[];
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
    meters: metersOf(text),
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

function metersOf(text: string): KnownMeter[] {
  const words = text.matchAll(/ (?:rate:|budget:([^,]+),)(\S+)/g);
  return [...words].map(([, name = RATE, terms = '']) => ({ name, ...meterOf(terms) }));
}

/** `permits,period,burst,until,tat,granted,returned`, see `rate.lua`. */
const METER = /^(?:\d{1,16},){3}\d{0,16}(?:,\d{1,16}){3}$/;

function meterOf(text: string): Omit<KnownMeter, 'name'> {
  if (text.startsWith('none')) return { rate: undefined, until: Infinity, arrivals: NO_ARRIVALS };
  if (!METER.test(text)) throw new UnexpectedReplyError('inspect', text);
  const numbers = text.split(',').map(Number);
  const [permits = 0, period = 0, burst = 0, until = 0, tat = 0, granted = 0] = numbers;
  const rate = { permits, per: period / 1000, burst };
  return { rate, until: until || Infinity, arrivals: { tat, granted } };
}
