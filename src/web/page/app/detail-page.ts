import type { Detail } from '../../api-types.js';
import { Confirmation, type Question } from './confirmation.js';
import { byId, setText } from './dom.js';
import { count, duration, rate } from './format.js';
import { makeCharts } from './history-charts.js';
import { limitText, makeBar, makeState, stateOf } from './permits.js';
import { askForLimit, askToPause, askToRevoke } from './questions.js';
import { makeStrip } from './slot-strip.js';
import { Tables } from './tables.js';

const ORIGINS = {
  setLimit: 'set by an operator',
  caller: 'from the last caller',
  none: 'not known',
} as const;

/** The page of a semaphore. */
export class DetailPage {
  readonly #page = byId('detail');
  readonly #showBar = makeBar(byId('detail-bar'));
  readonly #showState = makeState(byId('detail-state'));
  readonly #confirmation = new Confirmation();
  readonly #tables = new Tables((slot) => this.#ask((detail) => askToRevoke(detail, slot)));
  readonly #showStrip = makeStrip((slot) => this.#select(slot));
  #showCharts: ((detail: Detail) => void) | undefined;
  #detail: Detail | undefined;
  /** The last limit above 0 that this page showed. */
  #limitSeen = 0;

  constructor() {
    byId('set-limit').addEventListener('click', () => this.setLimit());
    byId('pause').addEventListener('click', () => this.pause());
  }

  /** Shows this semaphore from now on, or leaves the page. */
  open(name: string | undefined): void {
    this.#page.hidden = name === undefined;
    this.#detail = undefined;
    this.#confirmation.close();
    this.#limitSeen = 0;
    this.#page.classList.add('unknown');
    if (name === undefined) return;
    setText(byId('detail-name'), name);
    byId('detail-name').focus();
  }

  show(detail: Detail): void {
    this.#detail = detail;
    this.#limitSeen = detail.row.limit || this.#limitSeen;
    this.#page.classList.remove('unknown');
    this.#showNumbers(detail);
    this.#showStrip(detail);
    this.#tables.show(detail);
    this.#showCharts ??= makeCharts();
    this.#showCharts(detail);
    this.#confirmation.update(detail);
  }

  setLimit(): void {
    this.#ask((detail) => askForLimit(detail, this.#startLimit(detail)));
  }

  /** Pauses, or asks for the limit to resume with. */
  pause(): void {
    if (this.#detail?.row.limit === 0) this.setLimit();
    else this.#ask(askToPause);
  }

  #ask(question: (detail: Detail) => Question): void {
    if (this.#detail?.actions === true) this.#confirmation.ask(question, this.#detail);
  }

  #select(slot: number): void {
    const holder = this.#detail?.slots.find((each) => each.slot === slot);
    if (holder !== undefined) this.#tables.activate(holder);
  }

  /** A paused semaphore resumes with the limit that it had before, if the page has seen it. */
  #startLimit({ row, history }: Detail): number {
    if (row.limit !== 0) return row.limit ?? 1;
    if (this.#limitSeen > 0) return this.#limitSeen;
    return history.findLast(({ limit }) => (limit ?? 0) > 0)?.limit ?? 1;
  }

  #showNumbers({ row }: Detail): void {
    const state = stateOf(row);
    this.#showState(row);
    this.#showBar(row);
    setText(byId('detail-held'), count(row.held));
    setText(byId('detail-limit'), limitText(row));
    setText(byId('detail-origin'), ORIGINS[row.limitFrom]);
    setText(byId('detail-over'), state === 'over' ? `${count(row.over)} over the limit` : '');
    setText(byId('detail-waiting'), count(row.waiting));
    setText(byId('detail-rate'), rate(row.rate));
    setText(byId('detail-oldest'), duration(row.oldestWait));
    setText(byId('detail-error'), row.error ?? '');
    setText(byId('pause'), state === 'paused' ? 'Resume…' : 'Pause…');
  }
}
