import type { ListSnapshot, SemaphoreRow } from '../../api-types.js';
import { byId, setText } from './dom.js';
import { count, duration, plural } from './format.js';
import { addressOf } from './route.js';
import { RowOrder } from './row-order.js';
import { RowWindow } from './row-window.js';
import { makeSemaphoreRow } from './semaphore-row.js';

/** All semaphores, those under the most pressure first. */
export class ListPage {
  readonly #page = byId('list');
  readonly #filter = byId('filter') as HTMLInputElement;
  readonly #order = new RowOrder();
  readonly #rows: RowWindow<SemaphoreRow>;
  #snapshot: ListSnapshot | undefined;

  constructor() {
    const grid = byId('semaphores');
    this.#rows = new RowWindow<SemaphoreRow>({
      grid,
      keyOf: ({ name }) => name,
      makeRow: makeSemaphoreRow,
      open: ({ name }) => (location.hash = addressOf(name)),
    });
    for (const sign of ['pointermove', 'keydown', 'wheel', 'touchmove']) {
      grid.addEventListener(sign, () => this.#order.hold(), { passive: true });
    }
    this.#filter.addEventListener('input', () => this.#render());
    this.#filter.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
      event.preventDefault();
      this.#rows.focus();
    });
    byId('filter-form').addEventListener('submit', (event) => event.preventDefault());
  }

  setVisible(visible: boolean): void {
    this.#page.hidden = !visible;
    if (visible) this.#render();
  }

  show(snapshot: ListSnapshot): void {
    this.#snapshot = snapshot;
    this.#render();
  }

  /** Back from a semaphore, its row is where the keyboard continues. */
  focusRow(name: string): void {
    this.#rows.activate(name);
    this.#rows.focus();
  }

  focusFilter(): void {
    this.#filter.focus();
    this.#filter.select();
  }

  /** @returns false when there was none */
  clearFilter(): boolean {
    if (this.#filter.value === '') return false;
    this.#filter.value = '';
    this.#render();
    return true;
  }

  #render(): void {
    if (this.#snapshot === undefined || this.#page.hidden) return;
    const { semaphores, total } = this.#snapshot;
    const wanted = this.#filter.value.trim().toLowerCase();
    const found = semaphores.filter(({ name }) => name.toLowerCase().includes(wanted));
    this.#rows.show(this.#order.arrange(found));
    this.#showTotals(found, wanted !== '', total);
    byId('semaphores').hidden = found.length === 0;
    byId('no-semaphores').hidden = semaphores.length > 0 || this.#snapshot.server.lastOkAt === null;
    byId('no-match').hidden = semaphores.length === 0 || found.length > 0;
    setText(byId('no-match-text'), this.#filter.value.trim());
  }

  #showTotals(rows: readonly SemaphoreRow[], isFiltered: boolean, total: number): void {
    const sum = (field: 'held' | 'waiting'): number =>
      rows.reduce((all, row) => all + row[field], 0);
    const oldest = rows.reduce((longest, row) => Math.max(longest, row.oldestWait ?? 0), 0);
    const left = total - (this.#snapshot?.semaphores.length ?? 0);
    const names = isFiltered
      ? `${count(rows.length)} of ${plural(total, 'semaphore')}`
      : plural(total, 'semaphore');
    setText(byId('total-names'), names);
    setText(byId('total-held'), count(sum('held')));
    setText(byId('total-waiting'), count(sum('waiting')));
    setText(byId('total-oldest'), oldest === 0 ? '–' : duration(oldest));
    setText(
      byId('left-out'),
      left > 0 ? `The ${count(left)} with the least pressure are left out.` : '',
    );
  }
}
