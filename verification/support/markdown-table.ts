/** Its columns are aligned, so that a terminal shows it as well as a page does. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[], filler = ' '): string => {
    const cells = row.map((cell, i) => {
      const width = widths[i] ?? 0;
      return i === 0 ? cell.padEnd(width, filler) : cell.padStart(width, filler);
    });
    return `| ${cells.join(' | ')} |`;
  };
  const rule = head.map(() => ':');
  return [line(head), line(rule, '-'), ...rows.map((row) => line(row))].join('\n');
}
