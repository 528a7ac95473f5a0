import type { HolderState, WaiterState } from '../index.js';
import { showDuration } from './duration.js';
import type { SemaphoreSummary, Unreadable } from './operator.js';
import { printable } from './output.js';
import { showRate, showRateState } from './rate.js';
import { table } from './table.js';

export const HOLDER_HEAD: readonly string[] = [
  'SLOT',
  'HELD FOR',
  'EXPIRES IN',
  'TOKEN',
  'TICKET',
  'HOLDER',
];
export const WAITER_HEAD: readonly string[] = [
  'PLACE',
  'WAITING FOR',
  'PERMITS',
  'REQUEST',
  'WAITER',
];

/** One semaphore, as `status NAME` shows it. */
export function summaryLines(summary: SemaphoreSummary): string[] {
  const { holders, waiters } = summary;
  return [
    headline(summary),
    ...(holders.length > 0 ? ['', ...table(HOLDER_HEAD, holders.map(holderRow))] : []),
    ...(waiters.length > 0 ? ['', ...table(WAITER_HEAD, waiters.map(waiterRow))] : []),
  ];
}

/** Many semaphores, a line for each. */
export function overviewLines(summaries: readonly (SemaphoreSummary | Unreadable)[]): string[] {
  const rows = summaries.map((summary) => {
    if ('error' in summary) return [summary.name, '?', '?', '?', '?', unreadable(summary)];
    const { name, held, waiting, limit, rate } = summary;
    const rules = [limitText(limit), rate === undefined ? '-' : showRate(rate)];
    return [name, ...rules, String(held), String(waiting)];
  });
  return table(['NAME', 'LIMIT', 'RATE', 'HELD', 'WAITING'], rows);
}

export function unreadable({ error }: Unreadable): string {
  return `cannot be read: ${error}`;
}

/** `?`: unknown; `-`: beside a rate there is none. */
export function limitText(limit: number | null): string {
  if (limit === null) return '?';
  return limit === Number.MAX_SAFE_INTEGER ? '-' : String(limit);
}

export function headline({ name, held, waiting, limit, rate }: SemaphoreSummary): string {
  const permits = limit === 1 ? 'permit' : 'permits';
  const of: Readonly<Record<string, string>> = {
    '?': 'permits held (limit unknown)',
    '-': 'permits held (no limit)',
  };
  const shown = limitText(limit);
  const counts = `${held} ${of[shown] ?? `of ${shown} ${permits} held`}, ${waiting} waiting`;
  return `${printable(name)}: ${counts}${rate === undefined ? '' : `, rate ${showRateState(rate)}`}`;
}

export function holderRow(holder: HolderState): string[] {
  return [
    holder.slots.join(','),
    showDuration(holder.heldFor),
    showDuration(holder.expiresIn),
    String(holder.fencingToken),
    holder.id,
    holder.label,
  ];
}

export function waiterRow(waiter: WaiterState): string[] {
  return [
    String(waiter.position + 1),
    showDuration(waiter.waitingFor),
    String(waiter.permits),
    waiter.id,
    waiter.label,
  ];
}
