import type { Step } from '../../sampler/history.js';

/** What a graph shows: a number for each step, oldest first. */
export interface Timeline {
  readonly held: readonly number[];
  readonly waiting: readonly number[];
  readonly grantsPerSecond: readonly number[];
}

/**
 * The last steps up to a moment; one without a look is as the one before, without grants.
 * @param now on the wall clock, as the steps
 */
export function timelineOf(
  steps: readonly Step[],
  stepMs: number,
  count: number,
  now: number,
): Timeline {
  const byTime = new Map(steps.map((step) => [step.t, step]));
  const newest = now - (now % stepMs);
  const times = Array.from({ length: count }, (_, i) => newest - (count - 1 - i) * stepMs);
  let last = { held: 0, waiting: 0 };
  const filled = times.map((t) => {
    const step = byTime.get(t);
    last = step ?? last;
    return { ...last, grantsPerSecond: step?.grantsPerSecond ?? 0 };
  });
  return {
    held: filled.map(({ held }) => held),
    waiting: filled.map(({ waiting }) => waiting),
    grantsPerSecond: filled.map(({ grantsPerSecond }) => grantsPerSecond),
  };
}
