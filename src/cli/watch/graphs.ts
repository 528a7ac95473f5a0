const LEVELS = '▁▂▃▄▅▆▇█';

/** One sign for each value, by its share of the highest one or of `ceiling`; a space for 0. */
export function sparkline(
  values: readonly number[],
  ceiling: number = Math.max(...values),
): string {
  return values
    .map((value) => {
      if (value <= 0) return ' ';
      const level = Math.ceil((value / Math.max(ceiling, value)) * LEVELS.length) - 1;
      return LEVELS[Math.max(0, level)] ?? '';
    })
    .join('');
}

/**
 * Permits as a bar: held ones full. Where there are more permits than columns, one column means
 * several.
 */
export function permitBar(held: number, limit: number | null, columns: number): string {
  const total = Math.max(limit ?? held, held, 1);
  const width = Math.max(1, Math.min(total, columns));
  // Neither is one held permit shown as none, nor one free permit as full.
  const share = Math.round((held / total) * width);
  const least = held > 0 ? 1 : 0;
  const most = held < total && width > 1 ? width - 1 : width;
  const full = held >= total ? width : Math.max(least, Math.min(most, share));
  return '█'.repeat(full) + '░'.repeat(width - full);
}
