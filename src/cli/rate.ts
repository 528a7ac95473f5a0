import { quoted } from '../arguments/shown.js';
import type { RateOptions, RateState } from '../index.js';
import { parseDuration, showDuration } from './duration.js';
import { UsageError } from './failure.js';

/** In the order in which a period is shown: the longest that has a name of one letter first. */
const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/**
 * A rate such as `100/m`, of the units s, m, h and d, or `100/15m`. The library checks the ranges.
 */
export function parseRate(what: string, text: string, burst: number | undefined): RateOptions {
  const [, permits, every = '', unit] = /^(\d{1,15})\/(\d{0,9})([smhd])$/.exec(text) ?? [];
  if (permits === undefined || unit === undefined) {
    throw new UsageError(
      `${what}: expected a rate such as 10/s, 100/m or 5000/h, got ${quoted(text)}`,
    );
  }
  const per = parseDuration(what, `${every === '' ? '1' : every}${unit}`);
  return { permits: Number(permits), per, ...(burst !== undefined && { burst }) };
}

/** `100/m`, `100/15m`, `10/s burst 5`: as it is given to commands, but for the burst. */
export function showRate({ permits, per, burst }: Required<RateOptions>): string {
  const [unit, length] = UNITS.find(([, milliseconds]) => per % milliseconds === 0) ?? ['ms', 1];
  const every = per / length;
  const period = every === 1 && unit !== 'ms' ? unit : `${every}${unit}`;
  return `${permits}/${period}${burst === 1 ? '' : ` burst ${burst}`}`;
}

/** With when it allows the next permit. */
export function showRateState(rate: RateState): string {
  const next = rate.nextIn > 0 ? `next in ${showDuration(rate.nextIn)}` : 'next now';
  return `${showRate(rate)}, ${next}`;
}
