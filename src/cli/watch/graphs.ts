import { NO_LIMIT } from '../../backends/protocol.js';
import { STEP_MS, STEPS } from '../../sampler/history.js';
import type { Step } from '../../sampler/history.js';
import { showDuration } from '../duration.js';
import type { Line } from '../style.js';
import { atBothEnds, lineOf } from '../style.js';
import type { Watched } from './seen.js';

const LEVELS = '▁▂▃▄▅▆▇█';

export interface GraphRoom {
  readonly columns: number;
  /** Whether there is room for all three; else only the waiting requests are shown. */
  readonly all: boolean;
  /** Whether there is room for a line that says how long ago the first step was. */
  readonly withSpan: boolean;
}

/**
 * Held permits, waiting requests and grants, a column for each step up to `now`, as many as fit.
 */
export function graphLines({ limit, steps }: Watched, now: number, room: GraphRoom): Line[] {
  const line = timeline(steps, now);
  const graphs = [
    graphOf('held', line, ({ held }) => held, limit === NO_LIMIT ? 0 : (limit ?? 0)),
    graphOf('waiting', line, ({ waiting }) => waiting),
    graphOf('grants/s', line, ({ grantsPerSecond }) => grantsPerSecond),
  ].filter(({ name }) => room.all || name === 'waiting');
  const digits = Math.max(...graphs.map(({ scale }) => scale.length));
  const legends = graphs.map(
    ({ name, scale }) => `${name.padEnd(8)}  max ${scale.padStart(digits)}  `,
  );
  const count = Math.max(0, Math.min(STEPS, room.columns - (legends[0]?.length ?? 0)));
  const lines = graphs.map(({ values, ceiling }, i): Line => [
    { text: legends[i] ?? '', style: 'faint' },
    { text: sparkline(values.slice(STEPS - count), ceiling) },
  ]);
  if (!room.withSpan) return lines;
  const span = lineOf(`last ${showDuration(count * STEP_MS)}`, 'faint');
  return [atBothEnds([], span, room.columns), ...lines];
}

type Point = Pick<Step, 'held' | 'waiting' | 'grantsPerSecond'>;

/** A point for each step; a step without a look repeats the step before, without grants. */
function timeline(steps: readonly Step[], now: number): Point[] {
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
