/** The quantile of ascending numbers; NaN if there are none. */
export function quantile(ascending: readonly number[], share: number): number {
  const index = Math.ceil(ascending.length * share) - 1;
  return ascending[Math.max(0, index)] ?? NaN;
}

export function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b);
  const middle = ascending.length >> 1;
  const upper = ascending[middle] ?? NaN;
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? NaN) + upper) / 2;
}
