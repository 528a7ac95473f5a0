import type { QueuedRequest } from '../../api-types.js';
import { byId, element, setAttribute, setText } from './dom.js';
import { count, duration } from './format.js';
import { RowWindow, type RowView } from './row-window.js';
import { cell } from './semaphore-row.js';

/** The waiters, in the order of the queue. */
export class QueueTable {
  readonly #rows = new RowWindow<QueuedRequest>({
    grid: byId('queue'),
    keyOf: ({ id }) => id,
    makeRow,
  });

  /** @param waiting all that wait, more than are listed maybe */
  show(queue: readonly QueuedRequest[], waiting: number): void {
    this.#rows.show(queue);
    const some = queue.length < waiting ? `first ${count(queue.length)} of ` : '';
    setText(byId('queue-count'), `${some}${count(waiting)}`);
    const grid = byId('queue');
    grid.hidden = queue.length === 0;
    byId('no-queue').hidden = queue.length > 0;
    // Columns that no request fills are left out.
    grid.classList.toggle(
      'has-group',
      queue.some(({ group }) => group !== undefined),
    );
    grid.classList.toggle(
      'has-priority',
      queue.some(({ priority }) => priority !== undefined),
    );
    grid.classList.toggle(
      'has-estimate',
      queue.some(({ estimate }) => estimate !== undefined),
    );
  }
}

function makeRow(): RowView<QueuedRequest> {
  const position = cell('number');
  const label = cell('text');
  const group = cell('text column-group');
  const priority = cell('number column-priority');
  const permits = cell('number');
  const waiting = cell('number');
  const estimate = cell('number column-estimate');
  const children = [position, label, group, priority, permits, waiting, estimate];
  const row = element('div', { class: 'row queued', attributes: { role: 'row' }, children });
  const show = (item: QueuedRequest): void => {
    setText(position, String(item.position + 1));
    setText(label, item.label);
    setAttribute(label, 'title', `${item.label}, request ${item.id}`);
    setText(group, item.group ?? '');
    setText(priority, count(item.priority));
    setText(permits, count(item.permits));
    setText(waiting, duration(item.waitingFor));
    setText(estimate, item.estimate === undefined ? '–' : `≈ ${duration(item.estimate)}`);
  };
  return { element: row, show };
}
