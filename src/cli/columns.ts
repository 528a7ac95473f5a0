import { printable } from './output.js';
import type { Line, Span } from './style.js';
import { fit, padTo, widthOf } from './text-width.js';

/** A column of a table of `Row`s. */
export interface Column<Row> {
  readonly head: string;
  /** What is in it; of at most `width` columns, where there is `least`. */
  readonly cell: (row: Row, width: number) => Span;
  /** Where there is no room for all columns, those with the highest rank go. */
  readonly rank: number;
  readonly isNumber?: boolean;
  /** It may be as narrow as this; left out: it is as wide as what is in it. */
  readonly least?: number;
  /** It is never wider. */
  readonly most?: number;
}

export interface Columns {
  readonly head: Line;
  readonly rows: readonly Line[];
}

const GAP = 2;

/** The columns that fit, numbers at the right; control characters are shown as escapes. */
export function inColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number = Infinity,
): Columns {
  const sized = sizedColumns(columns, rows, width);
  return {
    head: sized.flatMap(({ column, size }, i) =>
      spaced(i, padded({ text: column.head, style: 'head' }, column, size)),
    ),
    rows: rows.map((row) =>
      sized.flatMap(({ column, size }, i) =>
        spaced(i, padded(column.cell(row, size), column, size)),
      ),
    ),
  };
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly natural: number;
  size: number;
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
  const byRank = all.toSorted((a, b) => a.column.rank - b.column.rank);
  const kept = new Set<Sized<Row>>();
  let left = width + GAP;
  for (const sized of byRank) {
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

function naturalWidth<Row>(
  { head, cell, most = Infinity }: Column<Row>,
  rows: readonly Row[],
): number {
  const widths = rows.map((row) => widthOf(printable(cell(row, most).text)));
  return Math.max(
    widthOf(head),
    Math.min(
      most,
      widths.reduce((a, b) => Math.max(a, b), 0),
    ),
  );
}

function padded<Row>({ text, style }: Span, { isNumber }: Column<Row>, size: number): Line {
  const shown = fit(text, size);
  const gap = { text: padTo('', size - widthOf(shown)) };
  const span = style === undefined ? { text: shown } : { text: shown, style };
  return isNumber === true ? [gap, span] : [span, gap];
}

function spaced(index: number, spans: Line): Line {
  return index === 0 ? spans : [{ text: ' '.repeat(GAP) }, ...spans];
}
