import type { Detail, GroupState, LossCount } from '../../api-types.js';
import { byId, element, setProperty } from './dom.js';
import { count, NOTHING, percent } from './format.js';
import { Grid, number } from './grid.js';

/** Groups by their shares, and losses by their reasons. */
export class ShareTables {
  readonly #groups = new Grid<GroupState>({
    id: 'groups',
    keyOf: ({ group }) => group,
    columns: [
      {
        name: 'text',
        title: 'Group',
        width: 'minmax(4rem, 1fr)',
        text: ({ group }) => group || NOTHING,
        tip: ({ group }) => group,
      },
      {
        name: 'share',
        title: 'Share',
        width: 'minmax(3rem, 1fr)',
        text: ({ share }) => percent(share),
        make: makeShare,
      },
      number('percent', '%', '3.6rem', ({ share }) => percent(share)),
      number('in-use', 'Held', '4.2rem', ({ held, limit }) =>
        limit === undefined ? count(held) : `${count(held)} / ${count(limit)}`,
      ),
      number('in-queue', 'Waiting', '4.6rem', ({ waiting }) => count(waiting)),
    ],
  });
  readonly #losses = new Grid<LossCount>({
    id: 'losses',
    keyOf: ({ reason }) => reason,
    columns: [
      { name: 'text', title: 'Reason', width: '1fr', text: ({ reason }) => reason },
      number('count', 'Count', '4.6rem', (loss) => count(loss.count)),
    ],
  });

  show({ groups, losses }: Detail): void {
    byId('groups-card').hidden = groups.length === 0;
    this.#groups.show(groups.toSorted((a, b) => b.share - a.share || (a.group < b.group ? -1 : 1)));
    this.#losses.show(losses);
  }
}

function makeShare(cell: HTMLElement): (item: GroupState) => void {
  const bar = element('i');
  cell.append(bar);
  return ({ share }) => setProperty(bar, '--share', `${100 * share}%`);
}
