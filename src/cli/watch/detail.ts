import { NO_LIMIT } from '../../backends/protocol.js';
import { type HistoryPoint, STEP_MS, STEPS } from '../../sampler/history.js';
import { showDuration } from '../amounts.js';
import { type Column, sectionLines, type Size } from '../columns.js';
import { heldOf, loadStyle, permitBar } from '../permits.js';
import { holderColumns, WAITER_COLUMNS } from '../status-table.js';
import { atBothEnds, fit, type Line, lineOf, whatFits } from '../style.js';
import { type Row, rowsOf, type View, type Watched } from './view.js';

/** From this width on the tables show ids and fencing tokens. */
const WIDE = 100;
const IDS = ['TOKEN', 'TICKET', 'REQUEST'];

/** A semaphore: its permits, the last minutes, its holders and its waiters. */
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
  if (held + waiting > 0) return [lineOf(`no holder or waiter contains ${filter}; esc shows all`)];
  if (limit !== null) return [lineOf('no permit is held, no request waits')];
  return [
    lineOf('not in use within the last day'),
    lineOf(`try: redsem run ${quoted(name)} -- sleep 10`),
  ];
}

/** The name in the quotes of a shell. */
function quoted(name: string): string {
  return /^[\w.:@/-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}

/** Both lists. The list without the cursor gets a third of the room, or more if it is left. */
function listLines(view: View, rows: readonly Row[], size: Size, roomy: boolean): Line[] {
  const holders = rows.flatMap(({ holder }) => holder ?? []);
  const waiters = rows.flatMap(({ waiter }) => waiter ?? []);
  const inHolders = view.selected < holders.length;
  const [ofHolders, ofWaiters] = [linesOf(holders), linesOf(waiters)];
  const gap: Line[] = roomy && ofHolders > 0 && ofWaiters > 0 ? [[]] : [];
  const room = size.rows - gap.length;
  const [own, other] = inHolders ? [ofHolders, ofWaiters] : [ofWaiters, ofHolders];
  const forOther = Math.min(other, Math.max(Math.floor(room / 3), room - own));
  const above = inHolders ? room - forOther : forOther;
  const { columns } = size;
  const known = <R>(table: readonly Column<R>[]): readonly Column<R>[] =>
    columns >= WIDE ? table : table.filter(({ head }) => !IDS.includes(head));
  const holderTable = known(holderColumns((holder) => view.ticketTimes.expiresSoon(holder)));
  const holderSection = { columns, rows: above, selected: inHolders ? view.selected : undefined };
  const waiterSection = { columns, rows: room - above, selected: view.selected - holders.length };
  return [
    ...sectionLines(holderTable, holders, holderSection),
    ...gap,
    ...sectionLines(known(WAITER_COLUMNS), waiters, waiterSection),
  ];
}

/** The rows and the head. */
function linesOf(rows: readonly unknown[]): number {
  return rows.length === 0 ? 0 : rows.length + 1;
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** From these heights on there are three graphs, and empty lines between the sections. */
export const TALL = 14;
export const ROOMY = 18;

/** Graphs of held permits, waiting requests and grants, with a column for each step up to `now`. */
export function graphLines(
  { limit, steps }: Watched,
  now: number,
  { rows, columns }: Size,
): Line[] {
  const points = timeline(steps, now);
  const graphs = [
    graphOf('held', points, ({ held }) => held, limit === NO_LIMIT ? 0 : (limit ?? 0)),
    graphOf('waiting', points, ({ waiting }) => waiting),
    graphOf('grants/s', points, ({ grantsPerSecond }) => grantsPerSecond),
  ].filter(({ name }) => rows >= TALL || name === 'waiting');
  const digits = Math.max(...graphs.map(({ scale }) => scale.length));
  const legends = graphs.map(
    ({ name, scale }) => `${name.padEnd(8)}  max ${scale.padStart(digits)}  `,
  );
  const count = Math.max(0, Math.min(STEPS, columns - (legends[0]?.length ?? 0)));
  const lines = graphs.map(({ values, ceiling }, i): Line => [
    { text: legends[i] ?? '', style: 'faint' },
    { text: sparkline(values.slice(STEPS - count), ceiling) },
  ]);
  const span = lineOf(`last ${showDuration(count * STEP_MS)}`, 'faint');
  return rows >= ROOMY ? [atBothEnds([], span, columns), ...lines] : lines;
}

type Point = Pick<HistoryPoint, 'held' | 'waiting' | 'grantsPerSecond'>;

/** A point for each step; a step without a look repeats the step before, without grants. */
function timeline(steps: readonly HistoryPoint[], now: number): Point[] {
  const byTime = new Map(steps.map((step) => [step.t, step]));
  const first = now - (now % STEP_MS) - (STEPS - 1) * STEP_MS;
  let last = { held: 0, waiting: 0 };
  return Array.from({ length: STEPS }, (_, i) => {
    const step = byTime.get(first + i * STEP_MS);
    last = step ?? last;
    return { ...last, grantsPerSecond: step?.grantsPerSecond ?? 0 };
  });
}

/** @param least the least value of the highest level */
function graphOf(
  name: string,
  points: readonly Point[],
  valueOf: (point: Point) => number,
  least = 0,
) {
  const values = points.map(valueOf);
  const ceiling = Math.max(least, ...values);
  return { name, values, ceiling, scale: ceiling.toFixed(Number.isInteger(ceiling) ? 0 : 1) };
}

/** A sign for each value, by its share of the ceiling; a space for 0. */
function sparkline(values: readonly number[], ceiling: number): string {
  const signs = values.map((value) => LEVELS[Math.ceil((value / ceiling) * LEVELS.length) - 1]);
  return signs.map((sign) => sign ?? ' ').join('');
}
