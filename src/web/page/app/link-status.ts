import type { ServerState } from '../../api-types.js';
import { byId, setAttribute, setText } from './dom.js';
import { duration } from './format.js';

/** Numbers older than this look old. A look is made each second. */
const STALE_MS = 3000;

type Condition = 'connecting' | 'live' | 'stale' | 'lost' | 'redis' | 'locked';

/** Says whether what is shown is what is: in words, and by the look of the whole page. */
export class LinkStatus {
  #link: 'connecting' | 'open' | 'lost' | 'locked' = 'connecting';
  #server: ServerState | undefined;
  /** Age of the numbers when they arrived, and when that was. */
  #ageThen = 0;
  #arrived: number | undefined;
  #reason = '';

  constructor() {
    setInterval(() => this.#render(), 500);
  }

  opened(): void {
    this.#link = 'open';
    this.#render();
  }

  lost(reason: string): void {
    this.#link = 'lost';
    this.#reason = reason;
    this.#render();
  }

  locked(): void {
    this.#link = 'locked';
    this.#render();
  }

  received(at: number, server: ServerState): void {
    this.#server = server;
    this.#arrived = performance.now();
    this.#ageThen = server.lastOkAt === null ? 0 : Math.max(0, at - server.lastOkAt);
    this.#render();
  }

  #age(): number | undefined {
    if (this.#arrived === undefined || this.#server?.lastOkAt === null) return undefined;
    return this.#ageThen + performance.now() - this.#arrived;
  }

  #condition(): Condition {
    if (this.#link === 'locked' || this.#link === 'lost') return this.#link;
    if (this.#server?.reachable === false) return 'redis';
    const age = this.#age();
    if (this.#link === 'connecting' || age === undefined) return 'connecting';
    return age > STALE_MS ? 'stale' : 'live';
  }

  #render(): void {
    const condition = this.#condition();
    const age = this.#age();
    const since = age === undefined ? '' : ` Numbers are ${duration(roundAge(age))} old.`;
    setAttribute(document.body, 'data-link', condition);
    const words: Record<Condition, readonly [string, string]> = {
      connecting: ['Connecting', ''],
      live: ['Live', ''],
      stale: ['Late', `No news for a while.${since}`],
      lost: ['Disconnected', `Connection lost: trying again.${since} (${this.#reason})`],
      redis: ['No Redis', `Redis does not answer.${since} ${this.#server?.error ?? ''}`],
      locked: ['Locked', ''],
    };
    const [word, message] = words[condition];
    setText(byId('link-word'), word);
    setText(byId('banner-text'), message.trim());
    byId('banner').hidden = message === '';
  }
}

/** Whole seconds: a banner that changes its tenths is restless. */
function roundAge(ms: number): number {
  return Math.max(1000, Math.floor(ms / 1000) * 1000);
}
