import { NO_LIMIT } from '../../backends/protocol.js';
import { STEP_MS, STEPS } from '../../sampler/history.js';
import type { HistoryPoint } from '../../sampler/history.js';
import { showDuration } from '../duration.js';
import type { Line } from '../style.js';
import { atBothEnds, lineOf } from '../style.js';
import type { Size } from './frame.js';
import type { Watched } from './seen.js';

const LEVELS = '▁▂▃▄▅▆▇█';

/** From these heights on there are three graphs, and lines between the parts. */
export const TALL = 14;
export const ROOMY = 18;

/**
 * Held permits, waiting requests and grants, a column for each step up to `now`, as many as fit.
 */
export function graphLines(
  { limit, steps }: Watched,
  now: number,
  { rows, columns }: Size,
): Line[] {
  const points = timeline(steps, now);
  const graphs = [
    graphOf('held', points, ({ held }) => held, limit === NO_LIMIT ? 0 : (limit ?? 0)),
    graphOf('waiting', points, ({ waiting }) => waiting),
    graphOf('grants/s', points, ({ grantsPerSecond }) => grantsPerSecond),
  ].filter(({ name }) => rows >= TALL || name === 'waiting');
  const digits = Math.max(...graphs.map(({ scale }) => scale.length));
  const legends = graphs.map(
    ({ name, scale }) => `${name.padEnd(8)}  max ${scale.padStart(digits)}  `,
  );
  const count = Math.max(0, Math.min(STEPS, columns - (legends[0]?.length ?? 0)));
  const lines = graphs.map(({ values, ceiling }, i): Line => [
    { text: legends[i] ?? '', style: 'faint' },
    { text: sparkline(values.slice(STEPS - count), ceiling) },
  ]);
  const span = lineOf(`last ${showDuration(count * STEP_MS)}`, 'faint');
  return rows >= ROOMY ? [atBothEnds([], span, columns), ...lines] : lines;
}

type Point = Pick<HistoryPoint, 'held' | 'waiting' | 'grantsPerSecond'>;

/** A point for each step; a step without a look repeats the step before, without grants. */
function timeline(steps: readonly HistoryPoint[], now: number): Point[] {
  const byTime = new Map(steps.map((step) => [step.t, step]));
  const first = now - (now % STEP_MS) - (STEPS - 1) * STEP_MS;
  let last = { held: 0, waiting: 0 };
  return Array.from({ length: STEPS }, (_, i) => {
    const step = byTime.get(first + i * STEP_MS);
    last = step ?? last;
    return { ...last, grantsPerSecond: step?.grantsPerSecond ?? 0 };
  });
}

/** @param least the least value of the highest level */
function graphOf(
  name: string,
  points: readonly Point[],
  valueOf: (point: Point) => number,
  least = 0,
) {
  const values = points.map(valueOf);
  const ceiling = Math.max(least, ...values);
  return { name, values, ceiling, scale: ceiling.toFixed(Number.isInteger(ceiling) ? 0 : 1) };
}

/** One sign for each value, by its share of the ceiling; a space for 0. */
function sparkline(values: readonly number[], ceiling: number): string {
  const signs = values.map((value) => LEVELS[Math.ceil((value / ceiling) * LEVELS.length) - 1]);
  return signs.map((sign) => sign ?? ' ').join('');
}
