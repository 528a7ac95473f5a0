import { NO_LIMIT } from '../../backends/protocol.js';
import { type Column, sectionLines, type Size } from '../columns.js';
import { showDuration } from '../amounts.js';
import { limitText, loadStyle, permitBar } from '../permits.js';
import { type Line, lineOf, type Span, whatFits } from '../style.js';
import { rowsOf, type View, type Watched } from './view.js';

/** From this height on there is an empty line below the totals. */
const ROOMY = 16;

const COLUMNS: readonly Column<Watched>[] = [
  { head: 'NAME', rank: 1, least: 12, cell: ({ name }) => name },
  { head: 'HELD', rank: 2, isNumber: true, cell: heldCell },
  { head: '', rank: 5, least: 8, most: 24, cell: barCell },
  { head: 'WAITING', rank: 3, isNumber: true, cell: waitingCell },
  { head: 'OLDEST', rank: 4, isNumber: true, cell: ({ oldestWait: oldest }) => timeText(oldest) },
  { head: 'GRANTS/S', rank: 6, isNumber: true, cell: (each) => each.grantsPerSecond.toFixed(1) },
];

/** All semaphores, a row for each. */
export function overviewLines(view: View, size: Size): Line[] {
  const { seenAt, watched, filter, selected } = view;
  if (seenAt === undefined) return [lineOf('looking for semaphores …', 'strong')];
  const semaphores = rowsOf(view).flatMap((row) => row.watched ?? []);
  const head = [lineOf(totals(watched, size.columns), 'strong')];
  if (size.rows >= ROOMY) head.push([]);
  if (semaphores.length > 0) {
    const section = { ...size, rows: size.rows - head.length, selected };
    return [...head, ...sectionLines(COLUMNS, semaphores, section)];
  }
  if (watched.length > 0) return [...head, lineOf(`no name contains ${filter}; esc shows all`)];
  const hint = lineOf('try: redsem run demo -- sleep 10');
  return [...head, lineOf('none was used within the last day'), hint];
}

/** The totals, which include semaphores that the filter hides. */
function totals(watched: readonly Watched[], columns: number): string {
  const count = `${watched.length} ${watched.length === 1 ? 'semaphore' : 'semaphores'}`;
  if (watched.length === 0) return count;
  const sum = (value: (each: Watched) => number): number =>
    watched.reduce((total, each) => total + value(each), 0);
  const oldest = watched.flatMap(({ oldestWait }) => oldestWait ?? []);
  // Without a limit of every semaphore, a sum of limits means nothing.
  const hasLimits = watched.every(({ limit }) => limit !== NO_LIMIT);
  const of = hasLimits ? ` of ${sum(({ limit }) => limit ?? 0)}` : '';
  return whatFits(
    [
      count,
      `${sum(({ waiting }) => waiting)} waiting`,
      ...(oldest.length > 0 ? [`oldest ${timeText(oldest.reduce((a, b) => Math.max(a, b)))}`] : []),
      `${sum(({ held }) => held)}${of} held`,
      `${sum(({ grantsPerSecond }) => grantsPerSecond).toFixed(1)} grants/s`,
    ],
    ' · ',
    columns,
  );
}

function heldCell({ held, limit }: Watched): Span {
  return { text: `${held}/${limitText(limit)}`, style: limit === 0 ? 'warning' : undefined };
}

function barCell(watched: Watched, width: number): Span {
  return { text: permitBar(watched, width), style: loadStyle(watched) };
}

function waitingCell({ waiting }: Watched): Span {
  return { text: String(waiting), style: waiting > 0 ? 'strong' : undefined };
}

function timeText(time: number | undefined): string {
  return time === undefined ? '' : showDuration(time);
}
