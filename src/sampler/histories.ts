import type { Look, Step } from './history.js';
import { History } from './history.js';

/** Most semaphores that are remembered; the least recently used are forgotten first. */
const MOST_NAMES = 1000;

/** What was seen of each semaphore in the last 15 minutes. */
export class Histories {
  /** The most recently used are at the end. */
  readonly #histories = new Map<string, History>();

  /**
   * @param now on the wall clock
   * @param inUse whether it has holders, waiters or viewers: without use it gets no history
   */
  add(name: string, now: number, look: Look, inUse: boolean): void {
    let history = this.#histories.get(name);
    if (history === undefined && !inUse) return;
    if (inUse) {
      history ??= new History();
      this.#histories.delete(name);
      this.#histories.set(name, history);
    }
    history?.add(now, look);
    const [oldest] = this.#histories.keys();
    if (this.#histories.size > MOST_NAMES && oldest !== undefined) this.delete(oldest);
  }

  of(name: string, now: number): readonly Step[] {
    return this.#histories.get(name)?.steps(now) ?? [];
  }

  delete(name: string): void {
    this.#histories.delete(name);
  }
}
