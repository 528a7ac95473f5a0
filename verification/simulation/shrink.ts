import type { Settings } from './settings.js';
import type { RunResult } from './run.js';

/** Runs at most. */
const MOST = 120;

/**
 * A smaller schedule that breaks the same rule, without faults and processes that make no
 * difference (delta debugging: Zeller and Hildebrandt, 2002).
 */
export async function shrink(
  failed: RunResult,
  run: (settings: Settings) => Promise<RunResult>,
): Promise<RunResult> {
  const rule = failed.violations[0]?.rule;
  let best = failed;
  let runs = 0;
  const stillFails = async (settings: Settings): Promise<boolean> => {
    if (runs >= MOST) return false;
    runs += 1;
    const result = await run(settings);
    if (!result.violations.some((violation) => violation.rule === rule)) return false;
    best = result;
    return true;
  };
  const { settings } = failed;
  const numbers = failed.faults
    .filter(({ at }) => at <= failed.lasted)
    .map((fault) => fault.number);
  await stillFails({ ...settings, only: numbers });
  const slots = Array.from({ length: settings.processes }, (_, slot) => slot);
  const present = slots.filter((slot) => settings.without?.includes(slot) !== true);
  for (let round = 0; round < 2; round += 1) {
    await reduce(best.settings.only ?? numbers, (only) =>
      stillFails({ ...best.settings, only: only.length === 0 ? [-1] : only }),
    );
    const left = present.filter((slot) => best.settings.without?.includes(slot) !== true);
    await reduce(left, (kept) =>
      stillFails({ ...best.settings, without: slots.filter((slot) => !kept.includes(slot)) }),
    );
  }
  return best;
}

/** Leaves out ever smaller parts of `items` while the rest still fails. */
async function reduce(
  items: readonly number[],
  stillFails: (kept: readonly number[]) => Promise<boolean>,
): Promise<void> {
  let kept = [...items];
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length;) {
      const less = kept.filter((_, i) => i < from || i >= from + size);
      if (less.length < kept.length && (await stillFails(less))) kept = less;
      else from += size;
    }
    if (size === 1) return;
  }
}
