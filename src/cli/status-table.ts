import type { HolderState, WaiterState } from '../index.js';
import type { Column } from './columns.js';
import { inColumns } from './columns.js';
import { showDuration } from './duration.js';
import { limitText } from './limit-text.js';
import type { SemaphoreSummary, Unreadable } from './operator.js';
import { printable } from './output.js';
import { showRate, showRateState } from './rate.js';
import type { Line } from './style.js';
import { lineOf, spanOf } from './style.js';
import { permitBar } from './watch/graphs.js';
import { loadStyle } from './watch/state-style.js';

/** How long the one waits who waits longest, in milliseconds; undefined where nobody does. */
function oldestWait({ waiters }: SemaphoreSummary): number | undefined {
  if (waiters.length === 0) return undefined;
  return waiters.map(({ waitingFor }) => waitingFor).reduce((a, b) => Math.max(a, b));
}

/** Knows which tickets are not extended as they should be. */
interface Extensions {
  expiresSoon(id: string, expiresIn: number): boolean;
}

/** @param withIds also what programs need: fencing token and ticket */
export function holderColumns(
  extensions: Extensions | undefined,
  withIds: boolean,
): Column<HolderState>[] {
  const columns: Column<HolderState>[] = [
    { head: 'HOLDER', rank: 1, least: 10, cell: ({ label }) => ({ text: label }) },
    { head: 'SLOT', rank: 4, isNumber: true, cell: ({ slots }) => ({ text: slots.join(',') }) },
    {
      head: 'HELD FOR',
      rank: 2,
      isNumber: true,
      cell: ({ heldFor }) => ({ text: showDuration(heldFor) }),
    },
    {
      head: 'EXPIRES IN',
      rank: 3,
      isNumber: true,
      cell: ({ id, expiresIn }) => {
        const soon = extensions?.expiresSoon(id, expiresIn) === true;
        return spanOf(showDuration(expiresIn), soon ? 'warning' : undefined);
      },
    },
    {
      head: 'TOKEN',
      rank: 5,
      isNumber: true,
      cell: ({ fencingToken }) => ({ text: String(fencingToken) }),
    },
    { head: 'TICKET', rank: 6, cell: ({ id }) => ({ text: id }) },
  ];
  return withIds ? columns : columns.slice(0, 4);
}

export const WAITER_COLUMNS: readonly Column<WaiterState>[] = [
  { head: 'WAITER', rank: 1, least: 10, cell: ({ label }) => ({ text: label }) },
  {
    head: 'PLACE',
    rank: 3,
    isNumber: true,
    cell: ({ position }) => ({ text: String(position + 1) }),
  },
  {
    head: 'WAITING FOR',
    rank: 2,
    isNumber: true,
    cell: ({ waitingFor }) => ({ text: showDuration(waitingFor) }),
  },
  { head: 'PERMITS', rank: 4, isNumber: true, cell: ({ permits }) => ({ text: String(permits) }) },
  { head: 'REQUEST', rank: 5, cell: ({ id }) => ({ text: id }) },
];

type Entry = SemaphoreSummary | Unreadable;

const OVERVIEW: readonly Column<Entry>[] = [
  { head: 'NAME', rank: 1, least: 12, cell: ({ name }) => ({ text: name }) },
  numberOf('LIMIT', 3, ({ limit }) => limitText(limit)),
  numberOf('HELD', 2, ({ held }) => String(held)),
  {
    head: '',
    rank: 6,
    least: 8,
    most: 24,
    cell: (entry, width) =>
      'error' in entry
        ? { text: '' }
        : spanOf(permitBar(entry.held, entry.limit, width), loadStyle(entry)),
  },
  numberOf('WAITING', 4, ({ waiting }) => String(waiting)),
  numberOf('OLDEST', 5, (summary) => {
    const oldest = oldestWait(summary);
    return oldest === undefined ? '' : showDuration(oldest);
  }),
  numberOf('RATE', 6, ({ rate }) => (rate === undefined ? '' : showRate(rate))),
];

const WHY: Column<Entry> = {
  head: '',
  rank: 7,
  least: 15,
  cell: (entry) => ('error' in entry ? spanOf(unreadable(entry), 'alarm') : { text: '' }),
};

function numberOf(
  head: string,
  rank: number,
  text: (summary: SemaphoreSummary) => string,
): Column<Entry> {
  const cell: Column<Entry>['cell'] = (entry) => ({ text: 'error' in entry ? '?' : text(entry) });
  return { head, rank, isNumber: true, cell };
}

/** Where a table goes: a pipe gets all of it and no bars. */
export interface Paper {
  readonly isTerminal: boolean;
  readonly columns: number;
}

/** One semaphore, as `status NAME` shows it. */
export function summaryLines(summary: SemaphoreSummary, { columns }: Paper): Line[] {
  const { holders, waiters } = summary;
  const held = inColumns(holderColumns(undefined, true), holders, columns);
  const waiting = inColumns(WAITER_COLUMNS, waiters, columns);
  return [
    lineOf(headline(summary), 'strong'),
    ...(holders.length > 0 ? [[], held.head, ...held.rows] : []),
    ...(waiters.length > 0 ? [[], waiting.head, ...waiting.rows] : []),
  ];
}

/** Many semaphores, a line for each. */
export function overviewLines(entries: readonly Entry[], { isTerminal, columns }: Paper): Line[] {
  const known = isTerminal ? OVERVIEW : OVERVIEW.filter(({ head }) => head !== '');
  const isDamaged = entries.some((entry) => 'error' in entry);
  const { head, rows } = inColumns(isDamaged ? [...known, WHY] : known, entries, columns);
  return [head, ...rows];
}

export function unreadable({ error }: Unreadable): string {
  return `cannot be read: ${error}`;
}

const NO_NUMBER: Readonly<Record<string, string>> = {
  '?': 'permits held (limit unknown)',
  '-': 'permits held (no limit)',
};

function headline(summary: SemaphoreSummary): string {
  const { name, held, waiting, limit, rate } = summary;
  if (limit === null && rate === undefined && held + waiting === 0)
    return `${printable(name)}: not in use`;
  const permits = limit === 1 ? 'permit' : 'permits';
  const shown = limitText(limit);
  const of = NO_NUMBER[shown] ?? `of ${shown} ${permits} held`;
  const oldest = oldestWait(summary);
  const since = oldest === undefined ? '' : `, the longest for ${showDuration(oldest)}`;
  const pace = rate === undefined ? '' : `, rate ${showRateState(rate)}`;
  return `${printable(name)}: ${held} ${of}, ${waiting} waiting${since}${pace}`;
}
