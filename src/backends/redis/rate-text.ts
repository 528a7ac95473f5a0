import type { PushedTurn, Rate, RateState } from '../backend.js';
import { microseconds, onClockAt, timeAllowed } from '../gcra.js';
import { UnexpectedReplyError } from './replies.js';

/** As scripts take it: `permits period burst`, the period in microseconds. */
export function rateText({ permits, per, burst }: Rate): string {
  return `${permits} ${microseconds(per)} ${burst}`;
}

const STORED =
  /^(?:|none|(\d{1,16}) (\d{1,16}) (\d{1,16})(?: (\d{1,16}))?)\/(?:(\d{1,16}) (\d{1,16}))?$/;

/**
 * What `inspect.lua` says of the rate, at `now` in milliseconds. Null: it is stored that there is
 * none. Undefined: nothing is known.
 */
export function parseRate(text: string, now: number): RateState | null | undefined {
  const match = STORED.exec(text);
  if (match === null) throw new UnexpectedReplyError('inspect', text);
  if (text.startsWith('none')) return null;
  const [permits, period, burst, until, tat = 0, granted = 0] = match
    .slice(1)
    .map((digits) => (digits === undefined ? undefined : Number(digits)));
  if (permits === undefined || period === undefined || burst === undefined) return undefined;
  const at = microseconds(now);
  if (until !== undefined && until <= at) return undefined;
  const rate = { permits, per: period / 1000, burst };
  const next = timeAllowed(rate, onClockAt(at, { tat, granted }), at, 1, 0);
  const from = until === undefined ? 'setRate' : 'caller';
  return { ...rate, from, nextIn: Math.max(0, next - at) / 1000 };
}

/** A line of a message, `id at time`, which anybody may send. */
export function parseTurn(line: string): PushedTurn[] {
  const [, id, time] = /^(\S+) at (\d{1,16})$/.exec(line) ?? [];
  return id === undefined ? [] : [{ id, at: Number(time) / 1000 }];
}
