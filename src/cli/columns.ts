import { printable } from './output.js';
import { atBothEnds, fit, type Line, padded, restyled, type Span, widthOf } from './style.js';

/** A column of a table of `Row`s. */
export interface Column<Row> {
  readonly head: string;
  /** The text of a row; a column with `least` asks for a text of at most `width` columns. */
  readonly cell: (row: Row, width: number) => string | Span;
  /** If the columns do not fit, the column with the highest rank goes first. */
  readonly rank: number;
  readonly isNumber?: boolean;
  /** The least width of the column; left out: the width of its widest text. */
  readonly least?: number;
  readonly most?: number;
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly natural: number;
  size: number;
}

const GAP = 2;

/** The head and the rows: the columns that fit, with numbers at the right, all printable. */
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
  const shown = [{ text: fit(text, size), style }];
  return isNumber ? atBothEnds([], shown, size) : padded(shown, size);
}

/** The size of the screen, or of a section of it. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The section of the screen that a table fills with its head and rows. */
export interface Section extends Size {
  /** The row with the cursor; undefined: the cursor is elsewhere. */
  readonly selected: number | undefined;
}

/** The rows of a table around the cursor, with their numbers in the head. */
export function sectionLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { rows: room, selected, columns: width }: Section,
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

/** The head of the first column shows the position, and the column is wide enough for it. */
function withPosition<Row>(
  [first, ...others]: readonly Column<Row>[],
  position: string,
): Column<Row>[] {
  if (first === undefined) return [];
  const head = `${first.head} ${position}`;
  return [{ ...first, head, least: Math.max(first.least ?? 0, head.length) }, ...others];
}
