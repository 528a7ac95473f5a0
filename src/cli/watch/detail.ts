import type { HolderState, WaiterState } from '../../index.js';
import { STEP_MS, STEPS } from '../../sampler/history.js';
import { showDuration } from '../duration.js';
import { ceilingOf, heldOf } from '../limit-text.js';
import { holderColumns, WAITER_COLUMNS } from '../status-table.js';
import type { Line } from '../style.js';
import { atBothEnds, lineOf, spanOf, whatFits } from '../style.js';
import { fit } from '../text-width.js';
import type { Size } from './frame.js';
import { permitBar, sparkline } from './graphs.js';
import { sectionLines } from './section.js';
import { loadStyle } from './state-style.js';
import type { View, Watched } from './view.js';
import { rowsOf } from './view.js';
import type { TicketTimes } from './ticket-times.js';
import { timelineOf } from './timeline.js';

/** From this width on there is room for the ids and the fencing tokens. */
const WIDE = 100;
/** From these heights on there are three graphs, and empty lines between the parts. */
const [TALL, ROOMY] = [14, 18];

/** One semaphore: its permits, the last minutes, who holds and who waits. */
export function detailLines(view: View, watched: Watched, size: Size): Line[] {
  const { summary, ticketTimes } = watched;
  const bar = permitBar(summary.held, summary.limit, size.columns);
  const roomy = size.rows >= ROOMY;
  const head: Line[] = [
    lineOf(titleOf(watched, size.columns), 'strong'),
    lineOf(bar, loadStyle(summary)),
    ...graphLines(view, watched, size),
    ...(roomy ? [[]] : []),
  ];
  const rows = rowsOf(view);
  const holders = rows.flatMap((row) => (row.kind === 'holder' ? [row.holder] : []));
  const waiters = rows.flatMap((row) => (row.kind === 'waiter' ? [row.waiter] : []));
  if (rows.length === 0) return [...head, ...emptyLines(view, watched)];
  const chosen = rows[view.selected];
  const foot = size.columns < WIDE && size.rows >= TALL && chosen !== undefined;
  const left = { ...size, rows: size.rows - head.length - (foot ? 1 : 0) };
  const lists = listLines(view.selected, { holders, waiters, ticketTimes }, left, roomy);
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

function titleOf({ summary, oldestWait, rate }: Watched, columns: number): string {
  const { name, held, limit, waiting } = summary;
  const state = limit === 0 ? `paused, ${held} held` : heldOf(held, limit);
  return whatFits(
    [
      fit(name, Math.max(8, columns - 30)),
      state,
      `${waiting} waiting`,
      ...(oldestWait === undefined ? [] : [`oldest ${showDuration(oldestWait)}`]),
      `${rate.toFixed(1)} grants/s`,
    ],
    ' · ',
    columns,
  );
}

/** As many steps as there are columns for; the newest is at the right. */
function graphLines({ now }: View, { summary, steps }: Watched, size: Size): Line[] {
  const all = timelineOf(steps, STEP_MS, STEPS, now);
  const values: readonly [string, readonly number[], number][] = [
    ['held', all.held, ceilingOf(summary.limit)],
    ['waiting', all.waiting, 0],
    ['grants/s', all.grantsPerSecond, 0],
  ];
  const shown = size.rows >= TALL ? values : values.slice(1, 2);
  const scales = shown.map(([, each, least]) => shortNumber(Math.max(least, ...each)));
  const digits = Math.max(...scales.map(({ length }) => length));
  const legends = shown.map(
    ([name], i) => `${name.padEnd(8)}  max ${(scales[i] ?? '').padStart(digits)}  `,
  );
  const count = Math.max(0, Math.min(STEPS, size.columns - (legends[0]?.length ?? 0)));
  const graphs = shown.map(([, each, least], i): Line => {
    const graph = sparkline(each.slice(STEPS - count), Math.max(least, ...each));
    return [spanOf(legends[i] ?? '', 'faint'), { text: graph }];
  });
  if (size.rows < ROOMY) return graphs;
  const span = `last ${showDuration(count * STEP_MS)}`;
  return [atBothEnds([], lineOf(span, 'faint'), size.columns), ...graphs];
}

function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

function emptyLines({ filter }: View, { summary, isClose }: Watched): Line[] {
  const { name, held, waiting, limit } = summary;
  if (!isClose) return [lineOf('looking …')];
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
  readonly ticketTimes: TicketTimes;
}

/** Both lists; the one with the cursor gets what the other, or its third, leaves. */
function listLines(selected: number, lists: Lists, size: Size, roomy: boolean): Line[] {
  const { holders, waiters, ticketTimes } = lists;
  const inHolders = selected < holders.length;
  const gap: Line[] = roomy && holders.length > 0 && waiters.length > 0 ? [[]] : [];
  const room = size.rows - gap.length;
  const first = needed(inHolders ? holders : waiters);
  const other = needed(inHolders ? waiters : holders);
  const forOther = Math.min(other, Math.max(Math.floor(room / 3), room - first));
  const [above, below] = inHolders ? [room - forOther, forOther] : [forOther, room - forOther];
  const { columns } = size;
  return [
    ...sectionLines(holderColumns(ticketTimes, columns >= WIDE), holders, {
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
