import type { Column } from '../columns.js';
import { tableLines } from '../columns.js';
import type { Line } from '../style.js';
import { padded, restyled } from '../style.js';

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
  { rows: room, selected, columns: width }: Place,
): Line[] {
  if (room <= 0) return [];
  const count = Math.min(room - 1, rows.length);
  const last = rows.length - count;
  const from = Math.max(0, Math.min((selected ?? 0) - Math.floor(count / 2), last));
  const first = count === 0 ? '0' : `${from + 1}-${from + count}`;
  const titled = last === 0 ? columns : withPosition(columns, `${first} of ${rows.length}`);
  const [head, ...lines] = tableLines(titled, rows.slice(from, from + count), width);
  const cursorOn = (line: Line, i: number): Line =>
    from + i === selected ? restyled(padded(line, width), 'chosen') : line;
  return [head, ...lines.map(cursorOn)];
}

/** The first column is then never so narrow that the position would be cut off. */
function withPosition<Row>(
  [first, ...others]: readonly Column<Row>[],
  position: string,
): Column<Row>[] {
  if (first === undefined) return [];
  const head = `${first.head} ${position}`;
  return [{ ...first, head, least: Math.max(first.least ?? 0, head.length) }, ...others];
}
