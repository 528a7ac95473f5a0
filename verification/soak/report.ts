import { markdownTable } from '../support/markdown-table.js';

/** All that was measured at one moment, in MiB or pieces, by what it is of. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

/** What is left after `close()` in every worker. */
export interface Leftovers {
  readonly timers: number;
  /** Keys other than `info`, which stays for a day. */
  readonly keys: readonly string[];
  readonly channels: number;
}

interface Figure {
  readonly name: string;
  /** Growth per minute, of the line that fits best (least squares). */
  readonly slope: number;
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  /** What the slope adds up to from the first point to the last, as a share of the mean. */
  readonly growth: number;
  readonly grows: boolean;
}

/** The first part of a run, in which caches and pools fill. */
const WARM_UP = 0.3;

/** Growth over the rest of the run, as a share of the mean, above which a figure grows. */
const MOST_GROWTH = 0.05;

/** Below this much in all, growth cannot be distinguished from noise: MiB, or pieces. */
const LEAST_GROWTH = 3;

export function figuresOf(samples: readonly Sample[]): Figure[] {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  return Object.keys(settled[0]?.values ?? {}).map((name) => figureOf(name, settled));
}

function figureOf(name: string, samples: readonly Sample[]): Figure {
  const points = samples.map(({ at, values }) => ({ at, value: values[name] ?? 0 }));
  const [first, last] = [points[0]!, points.at(-1)!];
  const [middle, mean] = [average(points.map(({ at }) => at)), average(points.map((p) => p.value))];
  const above = points.map(({ at, value }) => (at - middle) * (value - mean));
  const below = average(points.map(({ at }) => (at - middle) ** 2));
  const perSecond = below === 0 ? 0 : average(above) / below;
  const grown = perSecond * (last.at - first.at);
  const growth = mean === 0 ? 0 : grown / mean;
  return {
    name,
    slope: perSecond * 60,
    first: first.value,
    last: last.value,
    mean,
    growth,
    grows: growth > MOST_GROWTH && grown > LEAST_GROWTH,
  };
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function reportOf(
  figures: readonly Figure[],
  left: Leftovers,
  setting: string,
  done: string,
): string {
  return [
    '# Soak',
    '',
    `Written by \`npm run soak\`. ${setting}`,
    '',
    `${done} The first 30 % of the samples are left out below,`,
    'because pools and caches fill at first. Slope: least squares. A figure counts as growing when the slope adds up to',
    `more than ${MOST_GROWTH * 100} % of its mean over the rest of the run, and to more than ${LEAST_GROWTH} (MiB or pieces).`,
    '',
    markdownTable(
      ['figure', 'first', 'last', 'mean', 'slope a minute', 'in all', 'grows'],
      figures.map(rowOf),
    ),
    '',
    'After `close()` in every worker:',
    '',
    `- timers of semaphores: ${left.timers}`,
    `- keys in use: ${left.keys.join(', ') || 'none'}`,
    `- channels with a listener: ${left.channels}`,
    '',
  ].join('\n');
}

function rowOf({ name, first, last, mean, slope, growth, grows }: Figure): string[] {
  const isMemory = /heap|resident|memory/.test(name);
  const show = (value: number): string => (isMemory ? `${value.toFixed(2)} MiB` : value.toFixed(1));
  const cells = [...[first, last, mean, slope].map(show), `${(growth * 100).toFixed(1)} %`];
  return [name, ...cells, grows ? '**yes**' : 'no'];
}
