import type { SemaphoreRow } from '../../api-types.js';
import { element, setAttribute, setText } from './dom.js';
import { count, duration, rate } from './format.js';
import { PermitBar } from './permit-bar.js';
import { limitText, stateOf } from './permit-state.js';
import { addressOf } from './route.js';
import type { RowView } from './row-window.js';

/** One line of the list. */
export function makeSemaphoreRow(): RowView<SemaphoreRow> {
  const mark = element('span', { class: 'mark', attributes: { 'aria-hidden': 'true' } });
  const word = element('span', { class: 'word' });
  const link = element('a', { class: 'name', attributes: { tabindex: '-1' } });
  const bar = new PermitBar();
  const held = element('b');
  const limit = element('span', { class: 'of' });
  const waiting = number('waiting');
  const perSecond = number('rate');
  const oldest = number('oldest');
  const row = element('div', {
    class: 'row semaphore',
    attributes: { role: 'row' },
    children: [
      cell('cell-state', [mark, word]),
      cell('cell-name', [link]),
      cell('cell-bar', [bar.element]),
      cell('cell-held', [held, limit]),
      waiting.cell,
      perSecond.cell,
      oldest.cell,
    ],
  });
  const show = (item: SemaphoreRow): void => {
    const state = stateOf(item);
    setAttribute(row, 'data-state', state);
    setText(word, state);
    setText(link, item.name);
    setAttribute(link, 'href', addressOf(item.name));
    setAttribute(link, 'title', item.error ?? item.name);
    bar.show(item);
    setText(held, count(item.held));
    setText(limit, ` / ${limitText(item)}`);
    waiting.show(item.waiting, count(item.waiting));
    perSecond.show(item.rate, rate(item.rate));
    oldest.show(item.oldestWait, duration(item.oldestWait));
  };
  return { element: row, show };
}

export function cell(name: string, children: readonly Node[] = []): HTMLElement {
  return element('span', { class: name, attributes: { role: 'gridcell' }, children });
}

/** A number that is faint where it is nothing, so that the others stand out. */
function number(name: string): {
  readonly cell: HTMLElement;
  show(value: number | null | undefined, text: string): void;
} {
  const made = cell(`cell-${name} number`);
  return {
    cell: made,
    show: (value, text) => {
      made.classList.toggle('nothing', (value ?? 0) === 0);
      setText(made, text);
    },
  };
}
