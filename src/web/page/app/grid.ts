import { byId, element, setAttribute, setProperty, setText } from './dom.js';
import { NOTHING } from './format.js';

export interface Column<T> {
  /** A class of the header and of each cell. */
  readonly name: string;
  readonly title: string;
  /** Of the grid. A column of a fixed width holds numbers. */
  readonly width: string;
  readonly text: (item: T) => string;
  /** Fills a new cell with more than a text, and gives the function that shows an item in it. */
  readonly make?: (cell: HTMLElement) => (item: T) => void;
  /** Left out if no item has a text for it. */
  readonly isOptional?: boolean;
}

export function plain<T>(
  name: string,
  title: string,
  width: string,
  text: (item: T) => string,
): Column<T> {
  return { name, title, width, text };
}

export function optional<T>(column: Column<T>): Column<T> {
  return { ...column, isOptional: true };
}

export interface GridOptions<T> {
  /** The id of an element of index.html with a label, which scrolls. */
  readonly id: string;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (item: T) => string;
  /** Shown when the pointer rests on the row. */
  readonly tipOf?: (item: T) => string;
  /** Enter on a row, or a click on it. */
  readonly open?: (item: T) => void;
}

interface Row<T> {
  readonly element: HTMLElement;
  readonly show: (item: T) => void;
}

/** Rows beside the visible ones, so that a fast scroll shows no gap. */
const SPARE = 6;

/** A table with a keyboard. It has only the visible rows, and a few rows above and below. */
export class Grid<T> {
  readonly #options: GridOptions<T>;
  readonly #grid: HTMLElement;
  readonly #body = element('div', { class: 'rows', role: 'rowgroup' });
  readonly #rows: Row<T>[] = [];
  #items: readonly T[] = [];
  /** The index of the item that the first row shows. */
  #first = 0;
  /** The key of the item with the keyboard's cursor. */
  #active: string | undefined;

  constructor(options: GridOptions<T>) {
    this.#options = options;
    this.#grid = byId(options.id);
    const heads = options.columns.map((column) => makeCell(column, 'columnheader', column.title));
    const head = { class: 'row head', role: 'row', 'aria-rowindex': '1' };
    this.#grid.append(element('div', head, ...heads), this.#body);
    this.#grid.role = 'grid';
    this.#grid.tabIndex = 0;
    this.#grid.addEventListener('keydown', (event) => this.#onKey(event));
    this.#grid.addEventListener('focus', () => this.#onFocus());
    this.#grid.addEventListener('scroll', () => this.#render(), { passive: true });
    this.#body.addEventListener('click', (event) => this.#onClick(event));
    new ResizeObserver(() => this.#render()).observe(this.#grid);
  }

  show(items: readonly T[]): void {
    this.#items = items;
    this.#grid.hidden = items.length === 0;
    this.#showColumns();
    this.#render();
  }

  /** Marks a row and scrolls to it; the keyboard continues there. */
  activate(key: string): void {
    this.#active = key;
    this.#grid.focus();
    const bottom = (this.#activeIndex() + 1) * this.#rowHeight();
    const { scrollTop, clientHeight } = this.#grid;
    const lowest = bottom + this.#body.offsetTop - clientHeight;
    this.#grid.scrollTop = Math.min(Math.max(scrollTop, lowest), bottom - this.#rowHeight());
    this.#render();
  }

  #showColumns(): void {
    const widths = this.#options.columns.map(({ name, width, text, isOptional }) => {
      const isEmpty = isOptional === true && this.#items.every((item) => text(item) === NOTHING);
      this.#grid.classList.toggle(`no-${name}`, isEmpty);
      return isEmpty ? '' : width;
    });
    setProperty(this.#grid, '--columns', widths.join(' '));
  }

  #addRow(): void {
    const id = `${this.#options.id}-row-${this.#rows.length}`;
    const row = element('div', { class: 'row', role: 'row', id });
    const shows = this.#options.columns.map((column) => {
      const cell = makeCell(column, 'gridcell');
      row.append(cell);
      return showerOf(column, cell);
    });
    this.#body.append(row);
    this.#rows.push({ element: row, show: (item) => shows.forEach((show) => show(item)) });
  }

  #activeIndex(): number {
    if (this.#active === undefined) return -1;
    return this.#items.findIndex((item) => this.#options.keyOf(item) === this.#active);
  }

  #rowHeight(): number {
    if (this.#rows.length === 0) this.#addRow();
    return this.#rows[0]?.element.getBoundingClientRect().height || 40;
  }

  #render(): void {
    const height = this.#rowHeight();
    const all = this.#items.length;
    const most = Math.ceil(this.#grid.clientHeight / height) + 2 * SPARE;
    const above = Math.floor(this.#grid.scrollTop / height) - SPARE;
    this.#first = Math.max(0, Math.min(above, all - most));
    const shown = this.#items.slice(this.#first, this.#first + most);
    setProperty(this.#body, '--above', `${this.#first * height}px`);
    setProperty(this.#body, '--below', `${(all - this.#first - shown.length) * height}px`);
    setAttribute(this.#grid, 'aria-rowcount', String(all + 1));
    while (this.#rows.length < shown.length) this.#addRow();
    this.#rows.forEach((row, nth) => this.#showRow(row, this.#first + nth, shown[nth]));
    const active = this.#body.querySelector('.active');
    setAttribute(this.#grid, 'aria-activedescendant', active?.id ?? '');
  }

  #showRow({ element: row, show }: Row<T>, index: number, item: T | undefined): void {
    row.hidden = item === undefined;
    const isActive = item !== undefined && this.#options.keyOf(item) === this.#active;
    row.classList.toggle('active', isActive);
    setAttribute(row, 'aria-rowindex', String(index + 2));
    if (item === undefined) return;
    setAttribute(row, 'title', this.#options.tipOf?.(item) ?? '');
    show(item);
  }

  #onFocus(): void {
    if (this.#activeIndex() !== -1) return;
    this.#activateAt(Math.floor(this.#grid.scrollTop / this.#rowHeight()));
  }

  #onClick(event: Event): void {
    const target = event.target as Element;
    const nth = this.#rows.findIndex(({ element: row }) => row.contains(target));
    if (nth === -1) return;
    const index = this.#first + nth;
    this.#activateAt(index);
    if (target.closest('a') === null) this.#open(index);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#activeIndex();
    const page = Math.max(1, Math.floor(this.#grid.clientHeight / this.#rowHeight()) - 2);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      j: at + 1,
      ArrowUp: at - 1,
      k: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.#items.length - 1,
    };
    const target = moves[event.key];
    if (target !== undefined) this.#activateAt(target);
    else if (event.key === 'Enter' && at !== -1) this.#open(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #open(index: number): void {
    const item = this.#items[index];
    if (item !== undefined) this.#options.open?.(item);
  }

  #activateAt(index: number): void {
    const item = this.#items[Math.min(Math.max(0, index), this.#items.length - 1)];
    if (item !== undefined) this.activate(this.#options.keyOf(item));
  }
}

function makeCell<T>(column: Column<T>, role: string, text = ''): HTMLElement {
  const { name, width } = column;
  const kind = width.includes('fr') ? name : `${name} number`;
  return element('span', { class: kind, role, 'data-title': column.title }, text);
}

function showerOf<T>({ text, make }: Column<T>, cell: HTMLElement): (item: T) => void {
  if (make !== undefined) return make(cell);
  return (item) => {
    const shown = text(item);
    setText(cell, shown);
    // Zeros and missing numbers are faint, so that other numbers stand out.
    cell.classList.toggle('nothing', /^[0–]$/.test(shown));
  };
}
