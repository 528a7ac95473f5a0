/** All that was measured at one moment, in MiB or pieces. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

/** The first part of a run, in which caches and pools fill. */
const WARM_UP = 0.3;

/** Growth over the rest of the run, as a share of the mean, above which a figure grows. */
const MOST_GROWTH = 0.05;

/** Below this much in all, growth cannot be distinguished from noise: MiB, or pieces. */
const LEAST_GROWTH = 3;

/** `values`: first, last, mean, and growth a minute, of the line that fits best. */
export function growthOf(samples: readonly Sample[]) {
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const minutes = settled.map(({ at }) => at / 60);
  return Object.keys(settled[0]?.values ?? {}).map((name) => {
    const points = settled.map(({ values }) => values[name] ?? 0);
    const [first = 0, last = 0, mean] = [points[0], points.at(-1), average(points)];
    const slope = slopeOf(minutes, points);
    const grown = slope * ((minutes.at(-1) ?? 0) - (minutes[0] ?? 0));
    const growth = mean === 0 ? 0 : grown / mean;
    const grows = growth > MOST_GROWTH && grown > LEAST_GROWTH;
    return { name, values: [first, last, mean, slope], growth, grows };
  });
}

/** By least squares. */
function slopeOf(x: readonly number[], y: readonly number[]): number {
  const [middle, mean] = [average(x), average(y)];
  const above = average(x.map((at, i) => (at - middle) * ((y[i] ?? 0) - mean)));
  return above === 0 ? 0 : above / average(x.map((at) => (at - middle) ** 2));
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
