import { type Clock, elapsedSince, type Instant } from './clock.js';

/** From when and for how long a lease is valid by local clocks. */
export interface ValidityWindow {
  readonly from: Instant;
  readonly duration: number;
}

/**
 * Milliseconds left after a safety margin of 1 % + 2 ms is taken off, for clocks that run apart.
 */
export function validityLeft(window: ValidityWindow, clock: Clock, now?: number): number {
  const { from, duration } = window;
  return duration - (duration * 0.01 + 2) - elapsedSince(from, clock, now);
}

/** The window for which `validityLeft` gives `remaining` at `from`: the margin is added back. */
export function windowOf(from: Instant, remaining: number): ValidityWindow {
  return { from, duration: (remaining + 2) / 0.99 };
}
