import type { Column } from '../columns.js';
import { inColumns } from '../columns.js';
import type { Line } from '../style.js';
import { restyled, widthOfLine } from '../style.js';
import { positionOf, windowAround } from './window.js';

export interface Place {
  readonly columns: number;
  /** For the head and the rows. */
  readonly rows: number;
  /** The row with the cursor; undefined: it is elsewhere. */
  readonly selected: number | undefined;
}

/** A table of which only the rows around the cursor are shown, and at its head which those are. */
export function sectionLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  place: Place,
): Line[] {
  if (place.rows <= 0) return [];
  const window = windowAround(place.selected ?? 0, rows.length, place.rows - 1);
  const position = positionOf(window, rows.length);
  const titled = columns.map((column, i) => (i === 0 ? withPosition(column, position) : column));
  const shown = inColumns(titled, rows.slice(window.from, window.to), place.columns);
  const lines = shown.rows.map((row, i) =>
    window.from + i === place.selected ? cursorOn(row, place.columns) : row,
  );
  return [shown.head, ...lines];
}

/** The column is then never so narrow that it would be cut off. */
function withPosition<Row>(column: Column<Row>, position: string): Column<Row> {
  if (position === '') return column;
  const head = `${column.head} ${position}`;
  return { ...column, head, least: Math.max(column.least ?? 0, head.length) };
}

/** The cursor is as wide as the screen. */
function cursorOn(row: Line, columns: number): Line {
  const gap = Math.max(0, columns - widthOfLine(row));
  return restyled([...row, { text: ' '.repeat(gap) }], 'chosen');
}
