import type { RunResult } from './run.js';
import type { Settings } from './settings.js';

/** Runs at most. */
const MOST = 120;

/**
 * A schedule that breaks the same rule, without faults that make no difference: ever smaller parts
 * are left out (delta debugging: Zeller and Hildebrandt, 2002).
 */
export async function shrink(
  failed: RunResult,
  run: (settings: Settings) => Promise<RunResult>,
): Promise<RunResult> {
  const rule = failed.violations[0]?.rule;
  let best = failed;
  let kept = failed.faults.filter(({ at }) => at <= failed.lasted).map(({ number }) => number);
  let runs = 0;
  for (let size = kept.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < kept.length && runs < MOST; runs += 1) {
      const only = kept.filter((_, i) => i < from || i >= from + size);
      // No fault has the number -1.
      const result = await run({ ...failed.settings, only: only.length === 0 ? [-1] : only });
      if (result.violations[0]?.rule === rule) [best, kept] = [result, only];
      else from += size;
    }
  }
  return best;
}
