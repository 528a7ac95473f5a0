import type { HolderState, WaiterState } from '../../index.js';
import { showDuration } from '../duration.js';
import type { SemaphoreSummary } from '../operator.js';
import { holderColumns, WAITER_COLUMNS } from '../status-table.js';
import type { Line } from '../style.js';
import { atBothEnds, lineOf, spanOf, whatFits } from '../style.js';
import { fit } from '../text-width.js';
import type { Size } from './frame.js';
import { permitBar, sparkline } from './graphs.js';
import type { History } from './history.js';
import { HISTORY_SECONDS } from './history.js';
import { sectionLines } from './section.js';
import { loadStyle } from './state-style.js';
import type { View, Watched } from './view.js';
import { oldestWait, rowsOf } from './view.js';

/** From this width on there is room for the ids and the fencing tokens. */
const WIDE = 100;
/** From these heights on there are three graphs, and empty lines between the parts. */
const [TALL, ROOMY] = [14, 18];

/** One semaphore: its permits, the last minute, who holds and who waits. */
export function detailLines(view: View, watched: Watched, size: Size): Line[] {
  const { summary, history } = watched;
  const bar = permitBar(summary.held, summary.limit, size.columns);
  const roomy = size.rows >= ROOMY;
  const head: Line[] = [
    lineOf(titleOf(view, watched, size.columns), 'strong'),
    lineOf(bar, loadStyle(summary)),
    ...graphLines(view, watched, size),
    ...(roomy ? [[]] : []),
  ];
  const rows = rowsOf(view);
  const holders = rows.flatMap((row) => (row.kind === 'holder' ? [row.holder] : []));
  const waiters = rows.flatMap((row) => (row.kind === 'waiter' ? [row.waiter] : []));
  if (rows.length === 0) return [...head, ...emptyLines(view, summary)];
  const chosen = rows[view.selected];
  const foot = size.columns < WIDE && size.rows >= TALL && chosen !== undefined;
  const left = { ...size, rows: size.rows - head.length - (foot ? 1 : 0) };
  const lists = listLines(view.selected, { holders, waiters, history }, left, roomy);
  if (!foot) return [...head, ...lists];
  const gap = Array.from({ length: left.rows - lists.length }, (): Line => []);
  return [...head, ...lists, ...gap, lineOf(idsOf(chosen), 'faint')];
}

function idsOf(row: ReturnType<typeof rowsOf>[number]): string {
  if (row.kind === 'holder') {
    const { id, fencingToken, slots } = row.holder;
    return `ticket ${id} · token ${fencingToken} · slots ${slots.join(',')}`;
  }
  return row.kind === 'waiter' ? `request ${row.waiter.id}` : '';
}

function titleOf({ now }: View, { summary, history }: Watched, columns: number): string {
  const { name, held, limit, waiting } = summary;
  const oldest = oldestWait(summary);
  const of = limit === null ? `${held} held, limit unknown` : `${held} of ${limit} held`;
  const state = limit === 0 ? [`paused, ${held} held`] : [of];
  return whatFits(
    [
      fit(name, Math.max(8, columns - 30)),
      ...state,
      `${waiting} waiting`,
      ...(oldest === undefined ? [] : [`oldest ${showDuration(oldest)}`]),
      `${history.grantRate(now).toFixed(1)} grants/s`,
    ],
    ' · ',
    columns,
  );
}

/** As many seconds as there are columns for; the newest is at the right. */
function graphLines({ now }: View, { summary, history }: Watched, size: Size): Line[] {
  const all: readonly [string, number[], number][] = [
    ['held', history.held(now), summary.limit ?? 0],
    ['waiting', history.waiting(now), 0],
    ['grants/s', history.grants(now), 0],
  ];
  const shown = size.rows >= TALL ? all : all.slice(1, 2);
  const scales = shown.map(([, values, least]) => Math.max(least, ...values));
  const digits = Math.max(...scales.map((scale) => String(scale).length));
  const legends = shown.map(
    ([name], i) => `${name.padEnd(8)}  max ${String(scales[i]).padStart(digits)}  `,
  );
  const seconds = Math.min(HISTORY_SECONDS, size.columns - (legends[0]?.length ?? 0));
  const graphs = shown.map(([, values], i): Line => {
    const graph = seconds < 1 ? '' : sparkline(values.slice(-seconds), scales[i]);
    return [spanOf(legends[i] ?? '', 'faint'), { text: graph }];
  });
  if (size.rows < ROOMY) return graphs;
  return [atBothEnds([], lineOf(`last ${seconds} s`, 'faint'), size.columns), ...graphs];
}

function emptyLines({ filter }: View, { name, held, waiting, limit }: SemaphoreSummary): Line[] {
  if (held + waiting > 0) return [lineOf(`nobody here contains ${filter}; esc shows all`)];
  if (limit !== null) return [lineOf('nobody holds a permit, nobody waits')];
  return [
    lineOf('not in use within the last day'),
    lineOf(`try: redsem run ${quoted(name)} -- sleep 10`),
  ];
}

/** As a shell reads it. */
function quoted(name: string): string {
  return /^[\w.:@/-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}

interface Lists {
  readonly holders: readonly HolderState[];
  readonly waiters: readonly WaiterState[];
  readonly history: History;
}

/** Both lists; the one with the cursor gets what the other, or its third, leaves. */
function listLines(selected: number, lists: Lists, size: Size, roomy: boolean): Line[] {
  const { holders, waiters, history } = lists;
  const inHolders = selected < holders.length;
  const gap: Line[] = roomy && holders.length > 0 && waiters.length > 0 ? [[]] : [];
  const room = size.rows - gap.length;
  const first = needed(inHolders ? holders : waiters);
  const other = needed(inHolders ? waiters : holders);
  const forOther = Math.min(other, Math.max(Math.floor(room / 3), room - first));
  const [above, below] = inHolders ? [room - forOther, forOther] : [forOther, room - forOther];
  const { columns } = size;
  return [
    ...sectionLines(holderColumns(history, columns >= WIDE), holders, {
      columns,
      rows: Math.min(above, needed(holders)),
      selected: inHolders ? selected : undefined,
    }),
    ...gap,
    ...sectionLines(
      WAITER_COLUMNS.filter(({ head }) => columns >= WIDE || head !== 'REQUEST'),
      waiters,
      { columns, rows: below, selected: inHolders ? undefined : selected - holders.length },
    ),
  ];
}

/** Lines of a whole list, with its head. */
function needed(rows: readonly unknown[]): number {
  return rows.length === 0 ? 0 : rows.length + 1;
}
