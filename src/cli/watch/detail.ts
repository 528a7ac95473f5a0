import type { Column } from '../columns.js';
import { showDuration } from '../duration.js';
import { heldOf, loadStyle, permitBar } from '../permits.js';
import { holderColumns, WAITER_COLUMNS } from '../status-table.js';
import type { Line } from '../style.js';
import { lineOf, whatFits } from '../style.js';
import { fit } from '../text-width.js';
import type { Size } from './frame.js';
import { graphLines, ROOMY, TALL } from './graphs.js';
import { sectionLines } from './section.js';
import type { Watched } from './seen.js';
import type { Row, View } from './view.js';
import { rowsOf } from './view.js';

/** From this width on there is room for the ids and the fencing tokens. */
const WIDE = 100;
const IDS = ['TOKEN', 'TICKET', 'REQUEST'];

/** One semaphore: its permits, the last minutes, its holders and its waiters. */
export function detailLines(view: View, watched: Watched, size: Size): Line[] {
  const { columns } = size;
  const roomy = size.rows >= ROOMY;
  const head: Line[] = [
    lineOf(titleOf(watched, columns), 'strong'),
    lineOf(permitBar(watched, columns), loadStyle(watched)),
    ...graphLines(watched, view.seenAt ?? view.now, size),
    ...(roomy ? [[]] : []),
  ];
  const rows = rowsOf(view);
  const chosen = rows[view.selected];
  if (chosen === undefined) return [...head, ...emptyLines(view, watched)];
  const foot = columns < WIDE && size.rows >= TALL ? [lineOf(idsOf(chosen), 'faint')] : [];
  const room = size.rows - head.length - foot.length;
  const lists = listLines(view, rows, { columns, rows: room }, roomy);
  const gap = foot.length === 0 ? 0 : room - lists.length;
  return [...head, ...lists, ...Array.from({ length: gap }, () => []), ...foot];
}

function idsOf({ key, holder }: Row): string {
  if (holder === undefined) return `request ${key}`;
  return `ticket ${key} · token ${holder.fencingToken} · slots ${holder.slots.join(',')}`;
}

function titleOf(watched: Watched, columns: number): string {
  const { name, held, limit, waiting, oldestWait, grantsPerSecond } = watched;
  return whatFits(
    [
      fit(name, Math.max(8, columns - 30)),
      limit === 0 ? `paused, ${held} held` : heldOf(watched),
      `${waiting} waiting`,
      ...(oldestWait === undefined ? [] : [`oldest ${showDuration(oldestWait)}`]),
      `${grantsPerSecond.toFixed(1)} grants/s`,
    ],
    ' · ',
    columns,
  );
}

function emptyLines({ filter }: View, { name, held, waiting, limit, isClose }: Watched): Line[] {
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

/** Both lists; the one with the cursor gets what the other, or its third, leaves. */
function listLines(view: View, rows: readonly Row[], size: Size, roomy: boolean): Line[] {
  const holders = rows.flatMap(({ holder }) => holder ?? []);
  const waiters = rows.flatMap(({ waiter }) => waiter ?? []);
  const inHolders = view.selected < holders.length;
  const [ofHolders, ofWaiters] = [linesOf(holders), linesOf(waiters)];
  const gap: Line[] = roomy && ofHolders > 0 && ofWaiters > 0 ? [[]] : [];
  const room = size.rows - gap.length;
  const forOther = (own: number, other: number): number =>
    Math.min(other, Math.max(Math.floor(room / 3), room - own));
  const above = inHolders
    ? Math.min(ofHolders, room - forOther(ofHolders, ofWaiters))
    : forOther(ofWaiters, ofHolders);
  const below = inHolders ? forOther(ofHolders, ofWaiters) : room - above;
  const { columns } = size;
  const known = <R>(table: readonly Column<R>[]): readonly Column<R>[] =>
    columns >= WIDE ? table : table.filter(({ head }) => !IDS.includes(head));
  const holderTable = known(holderColumns((holder) => view.ticketTimes.expiresSoon(holder)));
  return [
    ...sectionLines(holderTable, holders, {
      columns,
      rows: above,
      selected: inHolders ? view.selected : undefined,
    }),
    ...gap,
    ...sectionLines(known(WAITER_COLUMNS), waiters, {
      columns,
      rows: below,
      selected: inHolders ? undefined : view.selected - holders.length,
    }),
  ];
}

/** With the head. */
function linesOf(rows: readonly unknown[]): number {
  return rows.length === 0 ? 0 : rows.length + 1;
}
