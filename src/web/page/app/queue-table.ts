import type { Detail, QueuedRequest } from '../../api-types.js';
import { byId, setText } from './dom.js';
import { count, duration, NOTHING } from './format.js';
import { Grid, number, optional } from './grid.js';

/** The waiters, in the order of the queue. */
export class QueueTable {
  readonly #grid = new Grid<QueuedRequest>({
    id: 'queue',
    keyOf: ({ id }) => id,
    columns: [
      number('position', '#', '3.2rem', ({ position }) => String(position + 1)),
      {
        name: 'label',
        title: 'Label',
        width: 'minmax(5rem, 1fr)',
        text: ({ label }) => label,
        tip: ({ label, id }) => `${label}, request ${id}`,
      },
      optional({
        name: 'group',
        title: 'Group',
        width: 'minmax(3rem, 0.6fr)',
        text: ({ group }) => group ?? NOTHING,
      }),
      optional(number('priority', 'Priority', '3.6rem', ({ priority }) => count(priority))),
      number('permits', 'Permits', '4.2rem', ({ permits }) => count(permits)),
      number('since', 'Waiting', '5.2rem', ({ waitingFor }) => duration(waitingFor)),
      optional(number('estimate', 'Estimate', '5.6rem', estimateText)),
    ],
  });

  show({ queue, row: { waiting } }: Detail): void {
    this.#grid.show(queue);
    const some = queue.length < waiting ? `first ${count(queue.length)} of ` : '';
    setText(byId('queue-count'), `${some}${count(waiting)}`);
  }
}

function estimateText({ estimate }: QueuedRequest): string {
  return estimate === undefined ? NOTHING : `≈ ${duration(estimate)}`;
}
