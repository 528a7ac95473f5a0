import type { HolderState, WaiterState } from '../index.js';
import { showDuration } from './duration.js';
import type { SemaphoreSummary, Unreadable } from './operator.js';
import { printable } from './output.js';
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
    if ('error' in summary) return [summary.name, '?', '?', '?', unreadable(summary)];
    const { name, held, waiting, limit } = summary;
    return [name, limit === null ? '?' : String(limit), String(held), String(waiting)];
  });
  return table(['NAME', 'LIMIT', 'HELD', 'WAITING'], rows);
}

export function unreadable({ error }: Unreadable): string {
  return `cannot be read: ${error}`;
}

export function headline({ name, held, waiting, limit }: SemaphoreSummary): string {
  const permits = limit === 1 ? 'permit' : 'permits';
  const of = limit === null ? 'permits held (limit unknown)' : `of ${limit} ${permits} held`;
  return `${printable(name)}: ${held} ${of}, ${waiting} waiting`;
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
