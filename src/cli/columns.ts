import { printable } from './output.js';
import { fit, type Line, padded, restyled, type Span, widthOf } from './style.js';

/** A column of a table of `Row`s. */
export interface Column<Row> {
  readonly head: string;
  /** Its text; of at most `width` columns, where there is `least`. */
  readonly cell: (row: Row, width: number) => string | Span;
  /** Where there is no room for all columns, the highest ranks go first. */
  readonly rank: number;
  readonly isNumber?: boolean;
  /** How narrow the column may become; left out: as wide as its widest text. */
  readonly least?: number;
  readonly most?: number;
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly natural: number;
  size: number;
}

const GAP = 2;

/** The head and the rows: the columns that fit, numbers at the right, nothing unprintable. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number = Infinity,
): [head: Line, ...rows: Line[]] {
  const sized = sizedColumns(columns, rows, width);
  const lineOf = (cellOf: (column: Column<Row>, size: number) => string | Span): Line =>
    sized.flatMap(({ column, size }, i) => [
      { text: i === 0 ? '' : ' '.repeat(GAP) },
      ...paddedCell(cellOf(column, size), size, column.isNumber),
    ]);
  return [
    lineOf(({ head }) => ({ text: head, style: 'head' })),
    ...rows.map((row) => lineOf(({ cell }, size) => cell(row, size))),
  ];
}

function sizedColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): Sized<Row>[] {
  const all = columns.map((column): Sized<Row> => {
    const natural = naturalWidth(column, rows);
    return { column, natural, size: Math.min(natural, column.least ?? natural) };
  });
  const kept = new Set<Sized<Row>>();
  let left = width + GAP;
  for (const sized of all.toSorted((a, b) => a.column.rank - b.column.rank)) {
    if (kept.size > 0 && left < sized.size + GAP) break;
    kept.add(sized);
    left -= sized.size + GAP;
  }
  for (const sized of kept) {
    const more = Math.max(0, Math.min(sized.natural - sized.size, left));
    sized.size += more;
    left -= more;
  }
  return all.filter((sized) => kept.has(sized));
}

function naturalWidth<Row>({ head, cell, most = Infinity }: Column<Row>, rows: readonly Row[]) {
  const widths = rows.map((row) => widthOf(printable(spanOf(cell(row, most)).text)));
  const widest = widths.reduce((a, b) => Math.max(a, b), 0);
  return Math.max(widthOf(head), Math.min(most, widest));
}

function spanOf(cell: string | Span): Span {
  return typeof cell === 'string' ? { text: cell } : cell;
}

function paddedCell(cell: string | Span, size: number, isNumber = false): Line {
  const { text, style } = spanOf(cell);
  const shown = fit(text, size);
  const gap = { text: ' '.repeat(Math.max(0, size - widthOf(shown))) };
  return isNumber ? [gap, { text: shown, style }] : [{ text: shown, style }, gap];
}

/** Of the screen, or of a part of it. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The part of the screen that a table has; its rows are for the head, too. */
export interface Place extends Size {
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
