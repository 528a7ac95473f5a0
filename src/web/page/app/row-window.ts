import { element, setAttribute } from './dom.js';

/** One row on the page; it shows another item whenever the list is scrolled. */
export interface RowView<T> {
  readonly element: HTMLElement;
  show(item: T): void;
}

export interface RowWindowOptions<T> {
  /** Scrolls; has the role grid, a name and the header row. */
  readonly grid: HTMLElement;
  readonly keyOf: (item: T) => string;
  readonly makeRow: () => RowView<T>;
  /** Enter on a row, or a click on it. */
  readonly open?: (item: T) => void;
}

interface Place<T> {
  readonly view: RowView<T>;
  item: T | undefined;
  index: number;
}

/** Rows beside the visible ones, so that a fast scroll shows no gap. */
const SPARE = 6;

/** Has only the rows in the page that can be seen: a thousand or five thousand cost the same. */
export class RowWindow<T> {
  readonly #options: RowWindowOptions<T>;
  readonly #body = element('div', { class: 'rows', attributes: { role: 'rowgroup' } });
  readonly #places: Place<T>[] = [];
  #items: readonly T[] = [];
  #rowHeight = 0;
  #active: string | undefined;
  #scheduled = false;

  constructor(options: RowWindowOptions<T>) {
    this.#options = options;
    const { grid } = options;
    grid.append(this.#body);
    grid.addEventListener('scroll', () => this.#schedule(), { passive: true });
    grid.addEventListener('keydown', (event) => this.#onKey(event));
    grid.addEventListener('focus', () => this.#onFocus());
    this.#body.addEventListener('click', (event) => this.#onClick(event));
    new ResizeObserver(() => this.#measure()).observe(grid);
  }

  get active(): T | undefined {
    return this.#items[this.#activeIndex()];
  }

  show(items: readonly T[]): void {
    this.#items = items;
    this.#render();
  }

  /** Marks a row and scrolls to it. */
  activate(key: string): void {
    this.#active = key;
    this.#reveal();
  }

  focus(): void {
    this.#options.grid.focus();
  }

  #activeIndex(): number {
    if (this.#active === undefined) return -1;
    return this.#items.findIndex((item) => this.#options.keyOf(item) === this.#active);
  }

  #onFocus(): void {
    if (this.#activeIndex() === -1) this.#activateAt(this.#firstVisible());
  }

  #onClick(event: Event): void {
    const row = (event.target as Element).closest('[role=row]');
    const place = this.#places.find(({ view }) => view.element === row);
    if (place?.item === undefined) return;
    this.#activateAt(place.index);
    if ((event.target as Element).closest('a') === null) this.#options.open?.(place.item);
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#activeIndex();
    const page = Math.max(1, Math.floor(this.#options.grid.clientHeight / this.#height()) - 2);
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
    else if (event.key === 'Enter' && this.active !== undefined) this.#options.open?.(this.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #activateAt(index: number): void {
    const item = this.#items[Math.min(Math.max(0, index), this.#items.length - 1)];
    if (item === undefined) return;
    this.#active = this.#options.keyOf(item);
    this.#reveal();
  }

  #reveal(): void {
    const { grid } = this.#options;
    const index = this.#activeIndex();
    if (index !== -1) {
      const top = index * this.#height();
      const visible = grid.clientHeight - this.#body.offsetTop;
      if (top < grid.scrollTop) grid.scrollTop = top;
      const lowest = top + this.#height() - visible;
      if (grid.scrollTop < lowest) grid.scrollTop = lowest;
    }
    this.#render();
  }

  #measure(): void {
    this.#rowHeight = 0;
    this.#render();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#render();
    });
  }

  #height(): number {
    if (this.#rowHeight === 0) this.#rowHeight = this.#place(0).view.element.offsetHeight;
    return this.#rowHeight === 0 ? 40 : this.#rowHeight;
  }

  #firstVisible(): number {
    return Math.floor(this.#options.grid.scrollTop / this.#height());
  }

  #render(): void {
    const height = this.#height();
    const last = this.#items.length;
    const seen = Math.ceil(this.#options.grid.clientHeight / height) + 2 * SPARE;
    const first = Math.max(0, Math.min(this.#firstVisible() - SPARE, last - seen));
    this.#body.style.height = `${last * height}px`;
    setAttribute(this.#options.grid, 'aria-rowcount', String(last + 1));
    const size = Math.max(seen, this.#places.length);
    const shown = new Set<number>();
    for (let index = first; index < Math.min(first + size, last); index += 1) {
      shown.add(index % size);
      this.#showAt(this.#place(index % size), index, height);
    }
    this.#places.forEach((place, nth) => {
      if (!shown.has(nth)) place.view.element.hidden = true;
    });
    this.#markActive();
  }

  #place(nth: number): Place<T> {
    while (this.#places.length <= nth) {
      const view = this.#options.makeRow();
      view.element.id = `${this.#options.grid.id}-row-${this.#places.length}`;
      this.#body.append(view.element);
      this.#places.push({ view, item: undefined, index: -1 });
    }
    return this.#places[nth] as Place<T>;
  }

  #showAt(place: Place<T>, index: number, height: number): void {
    const item = this.#items[index] as T;
    const { element: row } = place.view;
    if (place.index !== index) setAttribute(row, 'aria-rowindex', String(index + 2));
    row.style.transform = `translateY(${index * height}px)`;
    if (place.item !== item) place.view.show(item);
    place.item = item;
    place.index = index;
    row.hidden = false;
  }

  #markActive(): void {
    let id = '';
    for (const { view, item } of this.#places) {
      const isActive =
        !view.element.hidden && item !== undefined && this.#options.keyOf(item) === this.#active;
      if (isActive) id = view.element.id;
      view.element.classList.toggle('active', isActive);
    }
    if (id === '') this.#options.grid.removeAttribute('aria-activedescendant');
    else setAttribute(this.#options.grid, 'aria-activedescendant', id);
  }
}
