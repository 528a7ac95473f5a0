import { describe } from '../failure.js';
import type { Operator, SemaphoreSummary } from '../operator.js';
import type { Action } from './actions.js';
import { pauseOrResume, perform, questionOf } from './actions.js';
import { Cursor } from './cursor.js';
import { frame } from './frame.js';
import { freshnessOf } from './freshness.js';
import type { Key } from './keys.js';
import { keysIn } from './keys.js';
import type { Screen } from './screen.js';
import type { Row, View } from './view.js';
import { rowsOf } from './view.js';
import type { Watcher } from './watcher.js';

/** What the keys mean now: an answer, or a part of a filter; else each has its job. */
type Mode =
  | { readonly kind: 'keys' | 'help' | 'filter' }
  | { readonly kind: 'question'; readonly action: Action; readonly typed: string };

export interface ScreenSettings {
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** The server, without password. */
  readonly server: string;
}

/** How often the screen is drawn between looks, in milliseconds: a lost connection shows soon. */
const DRAW_EVERY = 250;

const KEYS_MODE: Mode = { kind: 'keys' };

/** The full-screen view: what the keys do. */
export class FullScreen {
  readonly #operator: Operator;
  readonly #watcher: Watcher;
  readonly #screen: Screen;
  readonly #settings: ScreenSettings;
  readonly #cursor = new Cursor();
  /** Limits of the semaphores that were paused here. */
  readonly #before = new Map<string, number>();
  #name: string | undefined;
  #order = 0;
  #filter = '';
  #mode: Mode = KEYS_MODE;
  #message: string | undefined;
  #nextDraw: NodeJS.Timeout | undefined;
  #end: () => void = () => undefined;

  constructor(operator: Operator, watcher: Watcher, screen: Screen, settings: ScreenSettings) {
    this.#operator = operator;
    this.#watcher = watcher;
    this.#screen = screen;
    this.#settings = settings;
  }

  /** Resolves when the user quits. */
  async run(name: string | undefined): Promise<void> {
    this.#name = name;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    const onKeys = (text: string): void => {
      for (const key of keysIn(text)) this.#onKey(key);
      this.#draw();
    };
    this.#screen.open(onKeys, () => this.#draw());
    this.#look();
    this.#draw();
    await ended;
    this.#watcher.stop();
    clearTimeout(this.#nextDraw);
    this.#screen.close();
  }

  #look(): void {
    this.#watcher.follow(this.#name, () => {
      const rows = rowsOf(this.#view());
      if (this.#cursor.hasLost(rows)) this.#message ??= 'the selected row has ended';
      this.#draw();
    });
  }

  #draw(): void {
    clearTimeout(this.#nextDraw);
    this.#screen.show(frame(this.#view(), this.#screen.size));
    this.#nextDraw = setTimeout(() => this.#draw(), DRAW_EVERY);
  }

  #view(): View {
    const { seenAt, trouble } = this.#watcher;
    const name = this.#name;
    const now = Date.now();
    const view: View = {
      ...this.#settings,
      freshness: freshnessOf(this.#watcher, this.#operator, now),
      name,
      watched: this.#watcher.watched,
      filter: this.#filter,
      order: this.#order,
      selected: 0,
      message: this.#question() ?? this.#message,
      trouble,
      help: this.#mode.kind === 'help',
      now: seenAt ?? now,
    };
    return { ...view, selected: this.#cursor.on(rowsOf(view)) };
  }

  #question(): string | undefined {
    const mode = this.#mode;
    if (mode.kind === 'filter') return 'type what rows must contain; enter keeps it, esc clears it';
    if (mode.kind !== 'question') return undefined;
    return questionOf(mode.action) + (mode.action.kind === 'limit' ? `${mode.typed}▏` : '');
  }

  #onKey(key: Key): void {
    const mode = this.#mode;
    if (key.name === 'interrupt') return this.#end();
    if (mode.kind === 'filter') this.#onFilterKey(key);
    else if (mode.kind === 'question') this.#onAnswerKey(key, mode.action, mode.typed);
    else if (key.text === 'q') return this.#end();
    else if (mode.kind === 'help') this.#mode = KEYS_MODE;
    else {
      this.#message = undefined;
      this.#move(key);
      this.#act(key);
    }
  }

  #move({ name, text }: Key): void {
    const rows = rowsOf(this.#view());
    const at = this.#cursor.on(rows);
    const page = Math.max(1, this.#screen.size.rows - 6);
    if (name === 'up' || text === 'k') this.#cursor.moveTo(at - 1, rows);
    else if (name === 'down' || text === 'j') this.#cursor.moveTo(at + 1, rows);
    else if (name === 'page up') this.#cursor.moveTo(at - page, rows);
    else if (name === 'page down') this.#cursor.moveTo(at + page, rows);
    else if (name === 'first' || text === 'g') this.#cursor.moveTo(0, rows);
    else if (name === 'last' || text === 'G') this.#cursor.moveTo(rows.length - 1, rows);
  }

  #act({ name, text }: Key): void {
    const row = this.#selectedRow();
    const summary = this.#selectedSummary();
    if (name === 'enter' && row?.kind === 'semaphore') this.#goTo(row.key);
    else if (name === 'escape' || name === 'delete') this.#back();
    else if (text === 's') this.#order += 1;
    else if (text === '?') this.#mode = { kind: 'help' };
    else if (text === '/') this.#mode = { kind: 'filter' };
    else if (summary === undefined) return;
    else if (text === 'r' && row?.kind === 'holder') {
      this.#ask({ kind: 'revoke', name: summary.name, holder: row.holder });
    } else if (text === 'l') this.#ask({ kind: 'limit', name: summary.name, limit: summary.limit });
    else if (text === 'p') this.#ask(pauseOrResume(summary, this.#before.get(summary.name)));
  }

  #back(): void {
    if (this.#filter !== '') this.#filter = '';
    else if (this.#name !== undefined) this.#goTo(undefined);
  }

  #selectedRow(): Row | undefined {
    const view = this.#view();
    return rowsOf(view)[view.selected];
  }

  /** The semaphore that a change is for: the one that is open, else the one under the cursor. */
  #selectedSummary(): SemaphoreSummary | undefined {
    const row = this.#selectedRow();
    if (this.#name !== undefined) return this.#view().watched[0]?.summary;
    return row?.kind === 'semaphore' ? row.watched.summary : undefined;
  }

  #goTo(name: string | undefined): void {
    this.#name = name;
    this.#order = 0;
    this.#filter = '';
    this.#cursor.reset();
    this.#look();
  }

  #ask(action: Action): void {
    this.#mode = { kind: 'question', action, typed: '' };
  }

  #onFilterKey({ name, text }: Key): void {
    if (name === 'enter' || name === 'escape') this.#mode = KEYS_MODE;
    if (name === 'escape') this.#filter = '';
    this.#filter = edited(this.#filter, { name, text });
  }

  #onAnswerKey(key: Key, action: Action, typed: string): void {
    if (action.kind === 'limit' && key.name !== 'enter' && key.name !== 'escape') {
      const answer = edited(typed, key);
      const isNumber = /^[+-]?\d*$/.test(answer);
      this.#mode = { kind: 'question', action, typed: isNumber ? answer : typed };
      return;
    }
    this.#mode = KEYS_MODE;
    const agreed =
      action.kind === 'limit' ? key.name === 'enter' && typed !== '' : /^y$/i.test(key.text);
    if (agreed) void this.#perform(action, typed);
  }

  async #perform(action: Action, typed: string): Promise<void> {
    const limit = this.#selectedSummary()?.limit ?? 0;
    try {
      this.#message = await perform(this.#operator, action, typed);
      if (action.kind === 'pause' && limit > 0) this.#before.set(action.name, limit);
    } catch (error) {
      this.#message = describe(error);
    }
    this.#look();
    this.#draw();
  }
}

/** A line of text after one more key. */
function edited(line: string, { name, text }: Key): string {
  return name === 'delete' ? line.slice(0, -1) : line + text;
}
