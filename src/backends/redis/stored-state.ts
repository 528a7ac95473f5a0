import type * as port from '../backend.js';
import { microseconds, onClockAt, timeAllowed } from '../gcra.js';
import { UnexpectedReplyError } from './wire-text.js';

/** What the field `state` of a semaphore says, see `close.lua`. */
export interface StoredState {
  /** Undefined where nothing is known. */
  readonly limit: { readonly limit: number; readonly limitFrom: 'setLimit' | 'caller' } | undefined;
  /** Null where it is stored that there is none, undefined where nothing is known. */
  readonly rate: port.RateState | null | undefined;
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
    timeOf: (priority) => Number(valueOf(priority) ?? 0),
  };
}

/** `permits,period,burst,until,tat,granted`, see `rate.lua`. */
const RATE = /^(?:\d{1,16},){3}\d{0,16}(?:,\d{1,16}){2}$/;

function rateOf(text: string, now: number): port.RateState | null | undefined {
  if (text === 'none') return null;
  if (text !== '' && !RATE.test(text)) throw new UnexpectedReplyError('inspect', text);
  const [permits = 0, period = 0, burst = 0, until = 0, tat = 0, granted = 0] = text
    .split(',')
    .map(Number);
  if (text === '' || (until > 0 && until <= now)) return undefined;
  const rate = { permits, per: period / 1000, burst };
  const next = timeAllowed(rate, onClockAt(now, { tat, granted }), now, 1, 0);
  const from = until === 0 ? 'setRate' : 'caller';
  return { ...rate, from, nextIn: Math.max(0, next - now) / 1000 };
}
