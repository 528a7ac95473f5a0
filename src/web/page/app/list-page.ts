import type { ListSnapshot, SemaphoreRow } from '../../api-types.js';
import { byId, element, setAttribute, setText } from './dom.js';
import { count, duration, NOTHING, plural, rate } from './format.js';
import { type Column, Grid, plain } from './grid.js';
import { limitText, makeBar, makeState, stateOf } from './permits.js';
import { addressOf } from './route.js';

/** How long rows keep their positions after the user has touched them. */
const HOLD_MS = 3000;

const COLUMNS: readonly Column<SemaphoreRow>[] = [
  { ...plain('state', 'State', 'minmax(6.6rem, 0.1fr)', stateOf), make: makeState },
  { ...plain('name', 'Name', 'minmax(10rem, 1.1fr)', ({ name }) => name), make: makeLink },
  { ...plain('gauge', 'Permits', 'minmax(8rem, 1.4fr)', stateOf), make: makeBar },
  { ...plain('held', 'Held / limit', '7rem', limitText), make: makeHeld },
  plain('waiting', 'Waiting', '5.5rem', (row) => count(row.waiting)),
  plain('rate', 'Grants/s', '5.5rem', (row) => rate(row.rate)),
  plain('oldest', 'Oldest wait', '7rem', (row) => duration(row.oldestWait)),
];

/** All semaphores, the highest pressure first. */
export class ListPage {
  readonly #page = byId('list');
  readonly #filter = byId('filter') as HTMLInputElement;
  readonly #grid = new Grid<SemaphoreRow>({
    id: 'semaphores',
    keyOf: ({ name }) => name,
    tipOf: ({ name, error }) => error ?? name,
    columns: COLUMNS,
    open: ({ name }) => (location.hash = addressOf(name)),
  });
  #snapshot: ListSnapshot | undefined;
  /** The names from top to bottom, and until when they keep their positions. */
  #shown: readonly string[] = [];
  #heldUntil = 0;

  constructor() {
    const hold = (): void => void (this.#heldUntil = performance.now() + HOLD_MS);
    for (const sign of ['pointermove', 'keydown', 'wheel', 'touchmove']) {
      byId('semaphores').addEventListener(sign, hold, { passive: true });
    }
    this.#filter.addEventListener('input', () => this.#render());
    this.#filter.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
      event.preventDefault();
      byId('semaphores').focus();
    });
  }

  setVisible(visible: boolean): void {
    this.#page.hidden = !visible;
    if (visible) this.#render();
  }

  show(snapshot: ListSnapshot): void {
    this.#snapshot = snapshot;
    this.#render();
  }

  /** The keyboard continues at the row of the semaphore whose page was open. */
  focusRow(name: string): void {
    this.#grid.activate(name);
  }

  focusFilter(): void {
    this.#filter.focus();
    this.#filter.select();
  }

  /** @returns false when there was no filter */
  clearFilter(): boolean {
    if (this.#filter.value === '') return false;
    this.#filter.value = '';
    this.#render();
    return true;
  }

  #render(): void {
    if (this.#snapshot === undefined || this.#page.hidden) return;
    const { semaphores, server } = this.#snapshot;
    const wanted = this.#filter.value.trim();
    const found = semaphores.filter(({ name }) =>
      name.toLowerCase().includes(wanted.toLowerCase()),
    );
    this.#grid.show(this.#arrange(found));
    this.#showTotals(found, wanted !== '', this.#snapshot);
    byId('no-semaphores').hidden = semaphores.length > 0 || server.lastOkAt === null;
    byId('no-match').hidden = semaphores.length === 0 || found.length > 0;
    setText(byId('no-match-text'), wanted);
  }

  /** In the order of the server, but no row moves under the user's hand. */
  #arrange(rows: readonly SemaphoreRow[]): readonly SemaphoreRow[] {
    const indexes = new Map(this.#shown.map((name, index) => [name, index]));
    const indexOf = ({ name }: SemaphoreRow): number => indexes.get(name) ?? indexes.size;
    const isHeld = performance.now() < this.#heldUntil;
    const arranged = isHeld ? rows.toSorted((a, b) => indexOf(a) - indexOf(b)) : rows;
    this.#shown = arranged.map(({ name }) => name);
    return arranged;
  }

  #showTotals(rows: readonly SemaphoreRow[], isFiltered: boolean, all: ListSnapshot): void {
    const sum = (field: 'held' | 'waiting'): number =>
      rows.reduce((total, row) => total + row[field], 0);
    const oldest = rows.reduce((longest, row) => Math.max(longest, row.oldestWait ?? 0), 0);
    const left = all.total - all.semaphores.length;
    const some = isFiltered ? `${count(rows.length)} of ` : '';
    setText(byId('total-names'), `${some}${plural(all.total, 'semaphore')}`);
    setText(byId('total-held'), count(sum('held')));
    setText(byId('total-waiting'), count(sum('waiting')));
    setText(byId('total-oldest'), oldest === 0 ? NOTHING : duration(oldest));
    const leftOut = `The ${count(left)} with the least pressure are left out.`;
    setText(byId('left-out'), left > 0 ? leftOut : '');
  }
}

function makeLink(cell: HTMLElement): (row: SemaphoreRow) => void {
  const link = element('a', { tabindex: '-1' });
  cell.append(link);
  return ({ name }) => {
    setText(link, name);
    setAttribute(link, 'href', addressOf(name));
  };
}

function makeHeld(cell: HTMLElement): (row: SemaphoreRow) => void {
  const [held, limit] = [element('b'), element('small')];
  cell.append(held, limit);
  return (row) => {
    setText(held, count(row.held));
    setText(limit, ` / ${limitText(row)}`);
    held.classList.toggle('nothing', row.held === 0);
  };
}
