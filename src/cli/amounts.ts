import type { BudgetOptions, BudgetState, RateOptions, RateState } from '../index.js';
import { unexpected } from './failure.js';

/** In milliseconds, the longest first. */
const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/**
 * Milliseconds of a duration such as `500ms`, `30s`, `1.5m`, `1h`, `1d`. A bare number other than 0
 * is refused: `timeout` and `flock` read it as seconds, this library as milliseconds.
 */
export function parseDuration(option: string, text: string): number {
  if (text === '0') return 0;
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(text) ?? [];
  const length = UNITS.find(([name]) => name === unit)?.[1];
  const milliseconds = Math.round(Number(count) * (length ?? Number.NaN));
  if (Number.isFinite(milliseconds)) return milliseconds;
  throw unexpected(option, 'a duration such as 500ms, 30s, 2m or 1h', text);
}

/** `850ms`, `12s`, `3m 20s`, `2h 5m`, `4d 1h`: two units at most. */
export function showDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return `${ms}ms`;
  const at = UNITS.findIndex(([, length]) => ms >= length);
  const [[unit, length], [smaller, part]] = [UNITS[at] ?? ['s', 1000], UNITS[at + 1] ?? ['ms', 1]];
  const text = `${Math.floor(ms / length)}${unit}`;
  return unit === 's' ? text : `${text} ${Math.floor((ms % length) / part)}${smaller}`;
}

/**
 * A rate such as `100/m`, of the units s, m, h and d, or `100/15m`. The library checks the ranges.
 */
export function parseRate(what: string, text: string, burst: number | undefined): RateOptions {
  const [, permits, every = '', unit] = /^(\d{1,15})\/(\d{0,9})([smhd])$/.exec(text) ?? [];
  if (permits === undefined || unit === undefined) {
    throw unexpected(what, 'a rate such as 10/s, 100/m or 5000/h', text);
  }
  const per = parseDuration(what, `${every === '' ? '1' : every}${unit}`);
  return { permits: Number(permits), per, ...(burst !== undefined && { burst }) };
}

/** `100/m`, `100/15m`, `10/s burst 5`: the text that commands take, and the burst. */
export function showRate({ permits, per, burst }: Required<RateOptions>): string {
  const [unit, length] = UNITS.find(([, milliseconds]) => per % milliseconds === 0) ?? ['ms', 1];
  const every = per / length;
  const period = every === 1 && unit !== 'ms' ? unit : `${every}${unit}`;
  return `${permits}/${period}${burst === 1 ? '' : ` burst ${burst}`}`;
}

/** A rate, and when it allows the next permit. */
export function showRateState(rate: RateState): string {
  const next = rate.nextIn > 0 ? `next in ${showDuration(rate.nextIn)}` : 'next now';
  return `${showRate(rate)}, ${next}`;
}

/** A budget such as `90000/m`, in the form of a rate. */
export function parseBudget(what: string, text: string, burst?: number): BudgetOptions {
  const { permits: amount, per } = parseRate(what, text, undefined);
  return { amount, per, ...(burst !== undefined && { burst }) };
}

/** `90000/m, 3120 of 90000 used`. */
export function showBudget({ amount, per, burst, used }: BudgetState): string {
  return `${showRate({ permits: amount, per, burst: 1 })}, ${Math.ceil(used)} of ${burst} used`;
}

/** The values by name of an option `NAME=VALUE` that may be given several times. */
export function namedValues<V>(
  option: string,
  texts: readonly string[],
  valueOf: (text: string) => V,
): Record<string, V> | undefined {
  if (texts.length === 0) return undefined;
  const entries = texts.map((text): [string, V] => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, valueOf(value)];
    throw unexpected(option, 'a name and a value as in tokens=4000', text);
  });
  return Object.fromEntries(entries);
}
