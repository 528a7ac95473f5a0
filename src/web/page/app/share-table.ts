import type { GroupState, LossCount } from '../../api-types.js';
import { byId, element, setProperty, setText } from './dom.js';
import { count, percent } from './format.js';

/** More rows than this nobody reads. */
const MOST_GROUPS = 100;

/** Groups by their shares. */
export function showGroups(groups: readonly GroupState[]): void {
  byId('groups-card').hidden = groups.length === 0;
  const sorted = groups.toSorted((a, b) => b.share - a.share || (a.group < b.group ? -1 : 1));
  const rows = sorted.slice(0, MOST_GROUPS).map(({ group, held, waiting, share }) => {
    const bar = element('td', { class: 'share', children: [element('i')] });
    setProperty(bar, '--share', percent(share).replace(' ', ''));
    return element('tr', {
      children: [
        element('th', { text: group, attributes: { scope: 'row', title: group } }),
        bar,
        element('td', { class: 'number', text: percent(share) }),
        element('td', { class: 'number', text: count(held) }),
        element('td', { class: 'number', text: count(waiting) }),
      ],
    });
  });
  byId('groups').replaceChildren(...rows);
  const more = groups.length - rows.length;
  setText(byId('groups-more'), more > 0 ? `and ${count(more)} more` : '');
}

/** Losses by reason. */
export function showLosses(losses: readonly LossCount[]): void {
  const rows = losses.map(({ reason, count: lost }) =>
    element('tr', {
      children: [
        element('th', { text: reason, attributes: { scope: 'row' } }),
        element('td', { class: 'number', text: count(lost) }),
      ],
    }),
  );
  byId('losses').replaceChildren(...rows);
  byId('losses-table').hidden = losses.length === 0;
  byId('no-losses').hidden = losses.length > 0;
}
