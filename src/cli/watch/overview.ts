import { NO_LIMIT } from '../../backends/protocol.js';
import type { Column } from '../columns.js';
import { showDuration } from '../duration.js';
import { limitText } from '../limit-text.js';
import type { Line } from '../style.js';
import { lineOf, spanOf, whatFits } from '../style.js';
import { permitBar } from './graphs.js';
import { sectionLines } from './section.js';
import { loadStyle } from './state-style.js';
import type { View, Watched } from './view.js';
import { rowsOf } from './view.js';
import type { Size } from './frame.js';

/** From this height on there are empty lines between the parts. */
const ROOMY = 16;

/** All semaphores, a row for each. */
export function overviewLines(view: View, size: Size): Line[] {
  const semaphores = rowsOf(view).flatMap((row) => (row.kind === 'semaphore' ? [row.watched] : []));
  const head = [lineOf(totals(view, size.columns), 'strong')];
  if (view.freshness.age === undefined) return head;
  if (size.rows >= ROOMY) head.push([]);
  if (semaphores.length === 0) return [...head, ...emptyLines(view)];
  const place = {
    columns: size.columns,
    rows: size.rows - head.length,
    selected: view.selected,
  };
  return [...head, ...sectionLines(COLUMNS, semaphores, place)];
}

function emptyLines({ filter, watched }: View): Line[] {
  if (watched.length > 0) return [lineOf(`no name contains ${filter}; esc shows all`)];
  return [lineOf('none was used within the last day'), lineOf('try: redsem run demo -- sleep 10')];
}

/** Of all, also those that the filter hides. */
function totals({ watched, freshness }: View, columns: number): string {
  if (freshness.age === undefined) return 'looking for semaphores …';
  const count = `${watched.length} ${watched.length === 1 ? 'semaphore' : 'semaphores'}`;
  const sum = (value: (each: Watched) => number): number =>
    watched.reduce((total, each) => total + value(each), 0);
  const oldest = watched.flatMap(({ oldestWait }) => oldestWait ?? []);
  if (watched.length === 0) return count;
  return whatFits(
    [
      count,
      `${sum(({ summary }) => summary.waiting)} waiting`,
      ...(oldest.length > 0
        ? [`oldest ${showDuration(oldest.reduce((a, b) => Math.max(a, b)))}`]
        : []),
      `${sum(({ summary }) => summary.held)}${ofLimits(watched)} held`,
      `${sum(({ rate }) => rate).toFixed(1)} grants/s`,
    ],
    ' · ',
    columns,
  );
}

/** Nothing where one has no limit: then their sum says nothing. */
function ofLimits(watched: readonly Watched[]): string {
  const limits = watched.map(({ summary }) => summary.limit ?? 0);
  if (limits.includes(NO_LIMIT)) return '';
  return ` of ${limits.reduce((total, limit) => total + limit, 0)}`;
}

const COLUMNS: readonly Column<Watched>[] = [
  { head: 'NAME', rank: 1, least: 12, cell: ({ summary }) => ({ text: summary.name }) },
  {
    head: 'HELD',
    rank: 2,
    isNumber: true,
    cell: ({ summary: { held, limit } }) =>
      spanOf(`${held}/${limitText(limit)}`, limit === 0 ? 'warning' : undefined),
  },
  {
    head: '',
    rank: 5,
    least: 8,
    most: 24,
    cell: ({ summary }, width) =>
      spanOf(permitBar(summary.held, summary.limit, width), loadStyle(summary)),
  },
  {
    head: 'WAITING',
    rank: 3,
    isNumber: true,
    cell: ({ summary: { waiting } }) => spanOf(String(waiting), waiting > 0 ? 'strong' : undefined),
  },
  {
    head: 'OLDEST',
    rank: 4,
    isNumber: true,
    cell: ({ oldestWait }) => ({
      text: oldestWait === undefined ? '' : showDuration(oldestWait),
    }),
  },
  { head: 'GRANTS/S', rank: 6, isNumber: true, cell: ({ rate }) => ({ text: rate.toFixed(1) }) },
];
