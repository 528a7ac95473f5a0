import type { HolderState, WaiterState } from '../index.js';
import { type Column, tableLines } from './columns.js';
import { showBudget, showDuration, showRate, showRateState } from './amounts.js';
import type { SemaphoreSummary, Unreadable } from './operator.js';
import { printable } from './output.js';
import { limitText, loadStyle, permitBar } from './permits.js';
import { type Line, lineOf } from './style.js';

/** @param expiresSoon whether a ticket has lost the extensions that it had before */
export function holderColumns(
  expiresSoon: (holder: HolderState) => boolean = () => false,
): Column<HolderState>[] {
  const expiry = (holder: HolderState) => ({
    text: showDuration(holder.expiresIn),
    style: expiresSoon(holder) ? ('warning' as const) : undefined,
  });
  return [
    { head: 'HOLDER', rank: 1, least: 10, cell: ({ label }) => label },
    { head: 'SLOT', rank: 4, isNumber: true, cell: ({ slots }) => slots.join(',') },
    { head: 'HELD FOR', rank: 2, isNumber: true, cell: ({ heldFor }) => showDuration(heldFor) },
    { head: 'EXPIRES IN', rank: 3, isNumber: true, cell: expiry },
    { head: 'TOKEN', rank: 5, isNumber: true, cell: ({ fencingToken }) => String(fencingToken) },
    { head: 'TICKET', rank: 6, cell: ({ id }) => id },
  ];
}

export const WAITER_COLUMNS: readonly Column<WaiterState>[] = [
  { head: 'WAITER', rank: 1, least: 10, cell: ({ label }) => label },
  { head: 'PLACE', rank: 3, isNumber: true, cell: ({ position }) => String(position + 1) },
  { head: 'WAITING FOR', rank: 2, isNumber: true, cell: (each) => showDuration(each.waitingFor) },
  { head: 'PERMITS', rank: 4, isNumber: true, cell: ({ permits }) => String(permits) },
  { head: 'REQUEST', rank: 5, cell: ({ id }) => id },
];

type Entry = SemaphoreSummary | Unreadable;

const OVERVIEW: readonly Column<Entry>[] = [
  { head: 'NAME', rank: 1, least: 12, cell: ({ name }) => name },
  numberOf('LIMIT', 3, ({ limit }) => limitText(limit)),
  numberOf('HELD', 2, ({ held }) => String(held)),
  { head: '', rank: 6, least: 8, most: 24, cell: barOf },
  numberOf('WAITING', 4, ({ waiting }) => String(waiting)),
  numberOf('OLDEST', 5, longestWait),
  numberOf('RATE', 6, ({ rate }) => (rate === undefined ? '' : showRate(rate))),
];

const WHY: Column<Entry> = {
  head: '',
  rank: 7,
  least: 15,
  cell: (entry) => ('error' in entry ? { text: unreadable(entry), style: 'alarm' } : ''),
};

function numberOf(
  head: string,
  rank: number,
  text: (summary: SemaphoreSummary) => string,
): Column<Entry> {
  const cell: Column<Entry>['cell'] = (entry) => ('error' in entry ? '?' : text(entry));
  return { head, rank, isNumber: true, cell };
}

function barOf(entry: Entry, width: number) {
  return 'error' in entry ? '' : { text: permitBar(entry, width), style: loadStyle(entry) };
}

/** Empty if no request waits. */
function longestWait({ waiters }: SemaphoreSummary): string {
  const longest = waiters.reduce((most, { waitingFor }) => Math.max(most, waitingFor), 0);
  return waiters.length === 0 ? '' : showDuration(longest);
}

/** The output of `status NAME`. */
export function summaryLines(summary: SemaphoreSummary, columns: number): Line[] {
  const { holders, waiters } = summary;
  return [
    lineOf(headline(summary), 'strong'),
    ...(holders.length > 0 ? [[], ...tableLines(holderColumns(), holders, columns)] : []),
    ...(waiters.length > 0 ? [[], ...tableLines(WAITER_COLUMNS, waiters, columns)] : []),
  ];
}

/** A line for each semaphore; a pipe has no width, and gets no bars. */
export function overviewLines(entries: readonly Entry[], columns: number): Line[] {
  const known = Number.isFinite(columns) ? OVERVIEW : OVERVIEW.filter(({ head }) => head !== '');
  const isDamaged = entries.some((entry) => 'error' in entry);
  return tableLines(isDamaged ? [...known, WHY] : known, entries, columns);
}

export function unreadable({ error }: Unreadable): string {
  return `cannot be read: ${error}`;
}

const NO_NUMBER: Readonly<Record<string, string>> = {
  '?': 'permits held (limit unknown)',
  '-': 'permits held (no limit)',
};

function headline(summary: SemaphoreSummary): string {
  const { name, held, waiting, limit, rate, budgets = {} } = summary;
  if (limit === null && rate === undefined && held + waiting === 0) {
    return `${printable(name)}: not in use`;
  }
  const shown = limitText(limit);
  const of = NO_NUMBER[shown] ?? `of ${shown} ${limit === 1 ? 'permit' : 'permits'} held`;
  const longest = longestWait(summary);
  const since = longest === '' ? '' : `, the longest for ${longest}`;
  const pace = rate === undefined ? '' : `, rate ${showRateState(rate)}`;
  const used = Object.entries(budgets).map(([budget, state]) => `, ${budget} ${showBudget(state)}`);
  return `${printable(name)}: ${held} ${of}, ${waiting} waiting${since}${pace}${used.join('')}`;
}
