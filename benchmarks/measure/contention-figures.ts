import type { HoldRecord } from '../workers/contention.js';
import { quantile } from './quantile.js';

interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * `processes`: the records of the callers of each process. Only grants within the window count.
 * `jain`: Jain's index over the callers' numbers of acquisitions, 1 is equal shares, 1 / callers is
 * all for one. `deadMs`: for how long a permit lay idle, on average, between two holders while a
 * caller waited.
 */
export function contentionFigures(
  processes: readonly (readonly HoldRecord[])[],
  window: Window,
  limit: number,
  callers: number,
) {
  const counts = new Map<string, number>();
  const waits: number[] = [];
  processes.forEach((records, index) => {
    for (const { caller, asked, granted } of records) {
      if (granted < window.from || granted > window.to) continue;
      waits.push(granted - asked);
      const who = `${index}:${caller}`;
      counts.set(who, (counts.get(who) ?? 0) + 1);
    }
  });
  waits.sort((a, b) => a - b);
  const { idleMs, peakHolders } = sweep(processes.flat(), window, limit);
  return {
    acquisitions: waits.length,
    waitP50: quantile(waits, 0.5),
    waitP99: quantile(waits, 0.99),
    waitMax: waits.at(-1) ?? NaN,
    jain: jainIndex([...counts.values()], callers),
    deadMs: idleMs / waits.length,
    peakHolders,
  };
}

/** A caller without any permit has no count. */
function jainIndex(counts: readonly number[], callers: number): number {
  const sum = counts.reduce((total, count) => total + count, 0);
  const squares = counts.reduce((total, count) => total + count ** 2, 0);
  return sum ** 2 / (callers * squares);
}

interface Step {
  readonly at: number;
  readonly waiting: number;
  readonly holding: number;
}

function stepsOf({ asked, granted, released }: HoldRecord): Step[] {
  const steps = [{ at: asked, waiting: 1, holding: 0 }];
  if (granted > 0) steps.push({ at: granted, waiting: -1, holding: 1 });
  if (released > 0) steps.push({ at: released, waiting: 0, holding: -1 });
  return steps;
}

/**
 * A hold lasts from the moment at which its holder has the permit to the moment at which the holder
 * begins to give it back. So there are never more holds than permits taken in Redis.
 */
function sweep(
  records: readonly HoldRecord[],
  window: Window,
  limit: number,
): { idleMs: number; peakHolders: number } {
  const steps = records.flatMap(stepsOf).toSorted((a, b) => a.at - b.at || a.holding - b.holding);
  let [waiting, holding, idleMs, peakHolders, since] = [0, 0, 0, 0, window.from];
  for (const step of steps) {
    const at = Math.min(Math.max(step.at, window.from), window.to);
    idleMs += Math.max(0, Math.min(limit - holding, waiting)) * (at - since);
    since = at;
    waiting += step.waiting;
    holding += step.holding;
    peakHolders = Math.max(peakHolders, holding);
  }
  return { idleMs, peakHolders };
}
