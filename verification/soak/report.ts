import { markdownTable } from '../support/markdown-table.js';

/** All that was measured at one moment, in MiB or pieces. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

interface Figure {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  /** Growth a minute, of the line that fits best (least squares). */
  readonly slope: number;
  /** The sum of the slope, as a share of the mean. */
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
  const minutes = settled.map(({ at }) => at / 60);
  return Object.keys(settled[0]?.values ?? {}).map((name) => {
    const points = settled.map(({ values }) => values[name] ?? 0);
    const mean = average(points);
    const slope = slopeOf(minutes, points);
    const grown = slope * ((minutes.at(-1) ?? 0) - (minutes[0] ?? 0));
    const growth = mean === 0 ? 0 : grown / mean;
    const grows = growth > MOST_GROWTH && grown > LEAST_GROWTH;
    const [first = 0, last = 0] = [points[0], points.at(-1)];
    return { name, first, last, mean, slope, growth, grows };
  });
}

function slopeOf(x: readonly number[], y: readonly number[]): number {
  const [middle, mean] = [average(x), average(y)];
  const above = average(x.map((at, i) => (at - middle) * ((y[i] ?? 0) - mean)));
  return above === 0 ? 0 : above / average(x.map((at) => (at - middle) ** 2));
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** `left`: the rest after `close()` in every worker. */
export function reportOf(
  figures: readonly Figure[],
  left: Readonly<Record<string, number>>,
  run: string,
): string {
  const rows = figures.map(({ name, first, last, mean, slope, growth, grows }) => {
    const cells = [first, last, mean, slope].map((value) => value.toFixed(2));
    return [name, ...cells, `${(growth * 100).toFixed(1)} %`, grows ? '**yes**' : 'no'];
  });
  const head = ['figure', 'first', 'last', 'mean', 'slope a minute', 'in all', 'grows'];
  return `# Soak

Written by \`npm run soak\`. ${run} The first ${WARM_UP * 100} % of the samples are left out below,
because pools and caches fill at first. Memory is in MiB, everything else in pieces. Slope: least squares. A figure counts as
growing when the slope adds up to more than ${MOST_GROWTH * 100} % of its mean over the rest of the run, and to more than ${LEAST_GROWTH}.

${markdownTable(head, rows)}

After \`close()\` in every worker:

${Object.entries(left)
  .map(([what, count]) => `- ${what}: ${count}`)
  .join('\n')}
`;
}
