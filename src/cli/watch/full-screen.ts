import type { HolderState } from '../../index.js';
import { describe } from '../failure.js';
import type { Operator } from '../operator.js';
import { type Action, limiting, pausing, resuming, revoking } from './actions.js';
import { frame } from './frame.js';
import type { Screen } from './screen.js';
import type { Looks, Row, View, Watched } from './view.js';
import { rowsOf, seenOf, TicketTimes } from './view.js';

/** The meaning of the keys now: commands, a part of a filter, or an answer. */
type Mode =
  | { readonly kind: 'keys' | 'help' | 'filter' }
  | { readonly kind: 'question'; readonly action: Action; readonly typed: string };

/** The time between two looks, and the server without password. */
export type ScreenSettings = Pick<View, 'interval' | 'server'>;

/**
 * How often the screen is drawn between looks, in milliseconds: it shows a lost connection soon.
 */
const DRAW_EVERY = 250;

const KEYS_MODE: Mode = { kind: 'keys' };

/** The full-screen view and its keys. */
export class FullScreen {
  readonly #operator: Operator;
  readonly #looks: Looks;
  readonly #screen: Screen;
  readonly #settings: ScreenSettings;
  readonly #ticketTimes = new TicketTimes();
  /** The limits of semaphores before they were paused here. */
  readonly #paused = new Map<string, number>();
  #cursor = new Cursor();
  #open: Pick<View, 'name' | 'order' | 'filter'> = { name: undefined, order: 0, filter: '' };
  #mode: Mode = KEYS_MODE;
  #message: string | undefined;
  #nextDraw: NodeJS.Timeout | undefined;
  #stopLooking: () => void = () => undefined;
  #end: () => void = () => undefined;

  constructor(operator: Operator, looks: Looks, screen: Screen, settings: ScreenSettings) {
    this.#operator = operator;
    this.#looks = looks;
    this.#screen = screen;
    this.#settings = settings;
  }

  /** Resolves when the user quits. */
  async run(name: string | undefined): Promise<void> {
    const ended = new Promise<void>((resolve) => (this.#end = resolve));
    const onKeys = (text: string): void => {
      for (const key of keysIn(text)) this.#onKey(key);
      this.#draw();
    };
    this.#screen.open(onKeys, () => this.#draw());
    this.#goTo(name);
    this.#draw();
    await ended;
    this.#stopLooking();
    clearTimeout(this.#nextDraw);
    this.#screen.close();
  }

  #goTo(name: string | undefined): void {
    this.#open = { name, order: 0, filter: '' };
    this.#cursor = new Cursor();
    this.#look();
  }

  #look(): void {
    const { name } = this.#open;
    const stop = this.#looks.watch(name, () => {
      if (name !== undefined)
        this.#ticketTimes.see(this.#looks.semaphore(name)?.detail?.holders ?? []);
      if (this.#cursor.hasLost(rowsOf(this.#view())))
        this.#message ??= 'the selected row has ended';
      this.#draw();
    });
    this.#stopLooking();
    this.#stopLooking = stop;
  }

  #draw(): void {
    clearTimeout(this.#nextDraw);
    this.#screen.show(frame(this.#view(), this.#screen.size));
    this.#nextDraw = setTimeout(() => this.#draw(), DRAW_EVERY);
  }

  #view(): View {
    const view: View = {
      ...this.#settings,
      ...seenOf(this.#looks, this.#open.name),
      connected: this.#operator.connected,
      now: Date.now(),
      ...this.#open,
      selected: 0,
      message: this.#question() ?? this.#message,
      help: this.#mode.kind === 'help',
      ticketTimes: this.#ticketTimes,
    };
    return { ...view, selected: this.#cursor.on(rowsOf(view)) };
  }

  #question(): string | undefined {
    const mode = this.#mode;
    if (mode.kind === 'filter') return 'type what rows must contain; enter keeps it, esc clears it';
    if (mode.kind !== 'question') return undefined;
    const { question, takesNumber } = mode.action;
    return takesNumber === true ? `${question}${mode.typed}▏` : question;
  }

  #onKey(key: string): void {
    const mode = this.#mode;
    if (key === 'interrupt') return this.#end();
    if (mode.kind === 'filter') this.#onFilterKey(key);
    else if (mode.kind === 'question') this.#onAnswerKey(key, mode.action, mode.typed);
    else if (key === 'q') return this.#end();
    else if (mode.kind === 'help') this.#mode = KEYS_MODE;
    else {
      this.#message = undefined;
      const rows = rowsOf(this.#view());
      const at = this.#cursor.on(rows);
      const goal = this.#goal(key, at, rows.length);
      if (goal === undefined) this.#act(key, rows[at]);
      else this.#cursor.moveTo(goal, rows);
    }
  }

  /** The row to which a key moves the cursor; undefined for any other key. */
  #goal(key: string, at: number, count: number): number | undefined {
    const page = Math.max(1, this.#screen.size.rows - 6);
    if (key === 'up' || key === 'k') return at - 1;
    if (key === 'down' || key === 'j') return at + 1;
    if (key === 'page up') return at - page;
    if (key === 'page down') return at + page;
    if (key === 'first' || key === 'g') return 0;
    return key === 'last' || key === 'G' ? count - 1 : undefined;
  }

  #act(key: string, row: Row | undefined): void {
    const semaphore = this.#open.name === undefined ? row?.watched : this.#view().watched[0];
    if (key === 'enter' && row?.watched !== undefined) this.#goTo(row.key);
    else if (key === 'escape' || key === 'delete') this.#back();
    else if (key === 's') this.#open = { ...this.#open, order: this.#open.order + 1 };
    else if (key === '?') this.#mode = { kind: 'help' };
    else if (key === '/') this.#mode = { kind: 'filter' };
    else if (semaphore !== undefined) {
      const action = this.#actionOf(key, semaphore, row?.holder);
      if (action !== undefined) this.#mode = { kind: 'question', action, typed: '' };
    }
  }

  #back(): void {
    if (this.#open.filter !== '') this.#open = { ...this.#open, filter: '' };
    else if (this.#open.name !== undefined) this.#goTo(undefined);
  }

  /**
   * The change that a key asks for, of the open semaphore, or of the semaphore under the cursor.
   */
  #actionOf(key: string, semaphore: Watched, holder: HolderState | undefined): Action | undefined {
    const { name, limit } = semaphore;
    const before = this.#paused.get(name);
    if (key === 'r' && holder !== undefined) return revoking(this.#operator, name, holder);
    if (key === 'p' && limit !== 0) return pausing(this.#operator, semaphore, this.#paused);
    if (key === 'p' && before !== undefined) return resuming(this.#operator, name, before);
    return key === 'l' || key === 'p' ? limiting(this.#operator, semaphore) : undefined;
  }

  #onFilterKey(key: string): void {
    if (key === 'enter' || key === 'escape') this.#mode = KEYS_MODE;
    const filter = key === 'escape' ? '' : edited(this.#open.filter, key);
    this.#open = { ...this.#open, filter };
  }

  #onAnswerKey(key: string, action: Action, typed: string): void {
    const isEnd = action.takesNumber !== true || key === 'enter' || key === 'escape';
    if (!isEnd) {
      const answer = edited(typed, key);
      this.#mode = { kind: 'question', action, typed: /^[+-]?\d*$/.test(answer) ? answer : typed };
      return;
    }
    this.#mode = KEYS_MODE;
    const agreed = action.takesNumber === true ? key === 'enter' && typed !== '' : /^y$/i.test(key);
    if (agreed) void this.#perform(action, typed);
  }

  async #perform(action: Action, typed: string): Promise<void> {
    this.#message = await action.perform(typed).catch(describe);
    this.#look();
    this.#draw();
  }
}

/** The row with the cursor. After a key has set it on a row, the cursor follows the row. */
export class Cursor {
  #index = 0;
  #key: string | undefined;

  /** The index of the cursor among these rows. */
  on(rows: readonly Row[]): number {
    const found = rows.findIndex(({ key }) => key === this.#key);
    this.#index = Math.max(0, Math.min(found < 0 ? this.#index : found, rows.length - 1));
    return this.#index;
  }

  /** Whether the row with the cursor is gone; then the cursor follows no row. */
  hasLost(rows: readonly Row[]): boolean {
    if (this.#key === undefined || rows.some(({ key }) => key === this.#key)) return false;
    this.#key = undefined;
    return true;
  }

  moveTo(index: number, rows: readonly Row[]): void {
    this.#index = Math.max(0, Math.min(index, rows.length - 1));
    this.#key = rows[this.#index]?.key;
  }
}

/** Keys without a sign, by the text of the terminal; some terminals send ESC O, not ESC [. */
const KEYS: Readonly<Record<string, string>> = {
  '\x1b[A': 'up',
  '\x1b[B': 'down',
  '\x1b[5~': 'page up',
  '\x1b[6~': 'page down',
  '\x1b[H': 'first',
  '\x1b[1~': 'first',
  '\x1b[F': 'last',
  '\x1b[4~': 'last',
  '\r': 'enter',
  '\n': 'enter',
  '\x1b': 'escape',
  '\x7f': 'delete',
  '\b': 'delete',
  '\x03': 'interrupt',
  '\x04': 'interrupt',
};

const ESCAPE = '\x1b';

/** An escape sequence, or else a single sign. */
const KEY = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[A-Za-z~]|O[A-Z])|[^]`, 'gu');

/**
 * The keys in a text from a terminal in raw mode: the name of each key, or the typed sign; empty
 * for an unknown key.
 */
export function keysIn(text: string): string[] {
  return (text.match(KEY) ?? []).map((sent) => {
    const name = KEYS[sent.replace(`${ESCAPE}O`, `${ESCAPE}[`)];
    return name ?? (/^\p{C}/u.test(sent) ? '' : sent);
  });
}

/** The line of text after another key. */
export function edited(line: string, key: string): string {
  if (key === 'delete') return line.slice(0, -1);
  return Array.from(key).length === 1 ? line + key : line;
}
