import { showDuration } from '../duration.js';
import type { SemaphoreSummary } from '../operator.js';
import {
  headline,
  HOLDER_HEAD,
  holderRow,
  WAITER_HEAD,
  waiterRow,
  limitText,
} from '../status-table.js';
import { table } from '../table.js';
import { fit } from '../text-width.js';
import { HISTORY_SECONDS } from './history.js';
import { permitBar, sparkline } from './graphs.js';
import type { View, Watched } from './view.js';
import { orderName, sortedHolders, sortedSemaphores } from './view.js';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** One line of the screen; `style` is how a terminal shows the whole of it. */
export interface Line {
  readonly text: string;
  readonly style?: 'title' | 'head' | 'selected' | 'trouble' | 'keys';
}

/** What the screen shows: no line wider than it, no more lines than it has. */
export function frame(view: View, size: Size): Line[] {
  const foot = footLines(view);
  const room = Math.max(0, size.rows - foot.length);
  const [first] = view.watched;
  const body =
    view.name !== undefined && first !== undefined
      ? semaphoreLines(view, first, { ...size, rows: room })
      : overviewLines(view, { ...size, rows: room });
  const visible = body.slice(0, room);
  const gap = Array.from({ length: room - visible.length }, (): Line => ({ text: '' }));
  return [...visible, ...gap, ...foot]
    .slice(-size.rows)
    .map((line) => ({ ...line, text: fit(line.text, size.columns) }));
}

function semaphoreLines(view: View, { summary, history }: Watched, size: Size): Line[] {
  const rate = history.grantRate(view.now).toFixed(1);
  const label = `last ${HISTORY_SECONDS} s`;
  const head: Line[] = [
    { text: headline(summary), style: 'title' },
    { text: permitBar(summary.held, summary.limit, size.columns) },
    { text: '' },
    {
      text: `held      ${sparkline(history.held(view.now), summary.limit ?? undefined)}  ${label}`,
    },
    { text: `grants    ${sparkline(history.grants(view.now))}  ${rate}/s seen` },
    { text: '' },
  ];
  const left = size.rows - head.length;
  const waiters = waiterLines(summary);
  // Holders come first, but some of the waiters are always seen.
  const forWaiters = Math.min(
    waiters.length,
    Math.max(Math.floor(left / 3), left - summary.held - 1),
  );
  return [
    ...head,
    ...holderLines(view, summary, left - forWaiters),
    ...waiters.slice(0, forWaiters),
  ];
}

function holderLines(view: View, summary: SemaphoreSummary, rows: number): Line[] {
  const holders = sortedHolders(summary, view);
  if (holders.length === 0) return [{ text: 'nobody holds a permit' }];
  return selectable(table(HOLDER_HEAD, holders.map(holderRow)), view.selected, rows);
}

function waiterLines(summary: SemaphoreSummary): Line[] {
  if (summary.waiters.length === 0) return [];
  const [head = '', ...rows] = table(WAITER_HEAD, summary.waiters.map(waiterRow));
  return [{ text: '' }, { text: head, style: 'head' }, ...rows.map((text) => ({ text }))];
}

function overviewLines(view: View, size: Size): Line[] {
  const count = view.watched.length;
  const title: Line = {
    text: `${count} ${count === 1 ? 'semaphore' : 'semaphores'}`,
    style: 'title',
  };
  if (count === 0) return [title];
  const rows = sortedSemaphores(view).map(({ summary, history }) => [
    fit(summary.name, Math.floor(size.columns / 3)),
    `${summary.held}/${limitText(summary.limit)}`,
    permitBar(summary.held, summary.limit, Math.floor(size.columns / 4)),
    String(summary.waiting),
    history.grantRate(view.now).toFixed(1),
    longestHold(summary),
  ]);
  const lines = table(['NAME', 'HELD', '', 'WAITING', 'GRANTS/S', 'LONGEST HOLD'], rows);
  return [title, { text: '' }, ...selectable(lines, view.selected, size.rows - 2)];
}

function longestHold({ holders }: SemaphoreSummary): string {
  if (holders.length === 0) return '';
  return showDuration(Math.max(...holders.map(({ heldFor }) => heldFor)));
}

/** A head and the rows around the selected one. */
function selectable(
  [head = '', ...rows]: readonly string[],
  selected: number,
  room: number,
): Line[] {
  const visible = Math.max(1, room - 1);
  const from = Math.max(0, Math.min(selected - Math.floor(visible / 2), rows.length - visible));
  const lines = rows.slice(from, from + visible).map((text, i): Line => {
    return from + i === selected ? { text, style: 'selected' } : { text };
  });
  return [{ text: head, style: 'head' }, ...lines];
}

function footLines(view: View): Line[] {
  const lines: Line[] = [];
  if (view.trouble !== undefined) lines.push({ text: view.trouble, style: 'trouble' });
  if (view.message !== undefined) lines.push({ text: view.message, style: 'trouble' });
  const move = view.name === undefined ? 'enter open' : 'r revoke  esc all';
  return [
    ...lines,
    { text: `q quit  s sort (${orderName(view)})  ↑↓ select  ${move}`, style: 'keys' },
  ];
}
