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
    return makeRow(group, bar, percent(share), count(held), count(waiting));
  });
  byId('groups').replaceChildren(...rows);
  const more = groups.length - rows.length;
  setText(byId('groups-more'), more > 0 ? `and ${count(more)} more` : '');
}

/** Losses by reason. */
export function showLosses(losses: readonly LossCount[]): void {
  const rows = losses.map(({ reason, count: lost }) => makeRow(reason, count(lost)));
  byId('losses').replaceChildren(...rows);
  byId('losses-table').hidden = losses.length === 0;
}

function makeRow(name: string, ...cells: readonly (string | HTMLElement)[]): HTMLElement {
  const head = element('th', { text: name, attributes: { scope: 'row', title: name } });
  const others = cells.map((cell) =>
    typeof cell === 'string' ? element('td', { class: 'number', text: cell }) : cell,
  );
  return element('tr', { children: [head, ...others] });
}
