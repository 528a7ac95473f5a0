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
  /** The time of the numbers, on the page's own clock; NaN: there are none. */
  #numbersOf = NaN;
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
    this.#server = server;
    this.#numbersOf = performance.now() - Math.max(0, at - (server.lastOkAt ?? NaN));
    this.#render();
  }

  #condition(age: number): keyof typeof WORDS {
    if (this.#link === 'locked' || this.#link === 'lost') return this.#link;
    if (this.#server?.reachable === false) return 'redis';
    if (this.#link === 'connecting' || Number.isNaN(age)) return 'connecting';
    return age > STALE_MS ? 'stale' : 'live';
  }

  #render(): void {
    const age = performance.now() - this.#numbersOf;
    const condition = this.#condition(age);
    const message = this.#message(condition, age);
    setAttribute(document.body, 'data-link', condition);
    setText(byId('link-word'), WORDS[condition]);
    setText(byId('banner'), message);
  }

  #message(condition: keyof typeof WORDS, age: number): string {
    // Whole seconds: a banner that changes its tenths is restless.
    const whole = Math.max(1000, Math.floor(age / 1000) * 1000);
    const since = Number.isNaN(age) ? '' : ` Numbers are ${duration(whole)} old.`;
    if (condition === 'stale') return `No news for a while.${since}`;
    if (condition === 'lost') return `Connection lost: trying again.${since} (${this.#reason})`;
    if (condition !== 'redis') return '';
    return `Redis does not answer.${since} ${this.#server?.error ?? ''}`;
  }
}
