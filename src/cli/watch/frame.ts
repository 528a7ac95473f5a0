import type { Line, Style } from '../style.js';
import { fitLine, lineOf, restyled, whatFits } from '../style.js';
import { detailLines } from './detail.js';
import { headerLine, isFresh } from './header.js';
import { helpLines } from './help-lines.js';
import { overviewLines } from './overview.js';
import type { View } from './view.js';
import { orderName } from './view.js';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What the screen shows: no line wider than it, no more lines than it has. */
export function frame(view: View, size: Size): Line[] {
  const foot = footLines(view, size.columns);
  const room = Math.max(0, size.rows - foot.length - 1);
  const body = bodyLines(view, { ...size, rows: room }).slice(0, room);
  const gap = Array.from({ length: room - body.length }, (): Line => []);
  return [headerLine(view, size.columns), ...body, ...gap, ...foot]
    .slice(-size.rows)
    .map((line) => fitLine(line, size.columns));
}

function bodyLines(view: View, size: Size): Line[] {
  if (view.help) return helpLines(size);
  const [first] = view.watched;
  const lines =
    view.name !== undefined && first !== undefined
      ? detailLines(view, first, size)
      : overviewLines(view, size);
  if (isFresh(view)) return lines;
  // Numbers that are not of now look like it at once.
  return lines.map((line) =>
    line.some(({ style }) => style === 'chosen') ? line : restyled(line, 'faint'),
  );
}

function footLines(view: View, columns: number): Line[] {
  const { trouble, filter, message } = view;
  const notes: [string | undefined, Style?][] = [
    [trouble, 'alarm'],
    [filter === '' ? undefined : `filter: ${filter}`],
    [message, 'strong'],
  ];
  return [
    ...notes.flatMap(([text, style]) => (text === undefined ? [] : [lineOf(text, style)])),
    lineOf(keyLine(view, columns), 'faint'),
  ];
}

/** The keys that are needed most come first. */
function keyLine(view: View, columns: number): string {
  const sort = `s sort (${orderName(view)})`;
  const keys =
    view.name === undefined
      ? ['q quit', '? help', 'enter open', '/ filter', 'l limit', 'p pause', sort, '↑↓ move']
      : ['q quit', '? help', 'esc back', 'r revoke', '/ filter', 'l limit', 'p pause', sort];
  return whatFits(keys, '  ', columns);
}
