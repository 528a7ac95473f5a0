import type { ServerState } from '../../api-types.js';
import { byId, setAttribute, setText } from './dom.js';
import { duration } from './format.js';

/** Older numbers look old. The server reads new numbers each second. */
const STALE_MS = 3000;

const WORDS = {
  connecting: 'Connecting',
  live: 'Live',
  stale: 'Late',
  lost: 'Disconnected',
  redis: 'No Redis',
  locked: 'Locked',
} as const;

/** Shows whether the numbers are of now: by a word, and by the style of the whole page. */
export class LinkStatus {
  #link: 'connecting' | 'open' | 'lost' | 'locked' = 'connecting';
  #server: ServerState | undefined;
  /** The time of the numbers, on the page's own clock. */
  #numbersOf: number | undefined;
  #reason = '';

  constructor() {
    setInterval(() => this.#render(), 500);
  }

  set(link: 'open' | 'lost' | 'locked', reason = ''): void {
    this.#link = link;
    this.#reason = reason;
    this.#render();
  }

  received(at: number, server: ServerState): void {
    const { lastOkAt } = server;
    this.#server = server;
    this.#numbersOf =
      lastOkAt === null ? undefined : performance.now() - Math.max(0, at - lastOkAt);
    this.#render();
  }

  #condition(age: number | undefined): keyof typeof WORDS {
    if (this.#link === 'locked' || this.#link === 'lost') return this.#link;
    if (this.#server?.reachable === false) return 'redis';
    if (this.#link === 'connecting' || age === undefined) return 'connecting';
    return age > STALE_MS ? 'stale' : 'live';
  }

  #render(): void {
    const age = this.#numbersOf === undefined ? undefined : performance.now() - this.#numbersOf;
    const condition = this.#condition(age);
    const message = this.#message(condition, age);
    setAttribute(document.body, 'data-link', condition);
    setText(byId('link-word'), WORDS[condition]);
    setText(byId('banner-text'), message);
    byId('banner').hidden = message === '';
  }

  #message(condition: keyof typeof WORDS, age: number | undefined): string {
    // Whole seconds: a banner that changes its tenths is restless.
    const whole = age && Math.max(1000, Math.floor(age / 1000) * 1000);
    const since = whole === undefined ? '' : ` Numbers are ${duration(whole)} old.`;
    if (condition === 'stale') return `No news for a while.${since}`;
    if (condition === 'lost') return `Connection lost: trying again.${since} (${this.#reason})`;
    if (condition !== 'redis') return '';
    return `Redis does not answer.${since} ${this.#server?.error ?? ''}`;
  }
}
