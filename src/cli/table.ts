import { printable } from './output.js';
import { padTo, widthOf } from './text-width.js';

/**
 * Columns of texts under a head; control characters are shown as escapes. No space at the ends of
 * lines.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ''))));
  return cells.map((row) =>
    row
      .map((cell, i) => padTo(cell, widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
