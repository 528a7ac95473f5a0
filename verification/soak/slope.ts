/** A figure over time. */
export interface Point {
  /** Seconds. */
  readonly at: number;
  readonly value: number;
}

export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  /** Growth per minute, of the line that fits best (least squares). */
  readonly slope: number;
  /** What that slope adds up to from the first point to the last, as a share of the mean. */
  readonly growth: number;
}

/** The first part of a run, in which caches and pools fill. */
const WARM_UP = 0.3;

export function trendOf(points: readonly Point[]): Trend {
  const settled = points.slice(Math.floor(points.length * WARM_UP));
  const [first, last] = [settled[0], settled.at(-1)];
  if (first === undefined || last === undefined) throw new Error('no points');
  const meanAt = mean(settled.map(({ at }) => at));
  const meanValue = mean(settled.map(({ value }) => value));
  const above = settled.reduce(
    (sum, { at, value }) => sum + (at - meanAt) * (value - meanValue),
    0,
  );
  const below = settled.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0);
  const perSecond = below === 0 ? 0 : above / below;
  const growth = meanValue === 0 ? 0 : (perSecond * (last.at - first.at)) / meanValue;
  return {
    first: first.value,
    last: last.value,
    mean: meanValue,
    slope: perSecond * 60,
    growth,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
