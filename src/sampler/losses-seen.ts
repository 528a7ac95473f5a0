import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LostMessage } from '../telemetry.js';

const CHANNEL = 'redsem:lost';

interface Heard {
  lost(this: void, message: unknown): void;
}

/** Reasons are few; names are not. */
const MOST_NAMES = 1000;

/** Counts the handles of this process that were lost, by the channel that reports them. */
export class LossesSeen {
  readonly #counts = new Map<string, Map<string, number>>();
  // The messages of a channel are unknown to the compiler: the publisher declares this type.
  readonly #on: Heard = { lost: (message: LostMessage): void => this.#count(message) };

  start(): void {
    this.stop();
    subscribe(CHANNEL, this.#on.lost);
  }

  stop(): void {
    unsubscribe(CHANNEL, this.#on.lost);
  }

  of(name: string): { readonly reason: string; readonly count: number }[] {
    const counts = this.#counts.get(name) ?? new Map<string, number>();
    return [...counts].map(([reason, count]) => ({ reason, count }));
  }

  #count({ name, reason }: LostMessage): void {
    let counts = this.#counts.get(name);
    if (counts === undefined) {
      const [oldest] = this.#counts.keys();
      if (this.#counts.size >= MOST_NAMES && oldest !== undefined) this.#counts.delete(oldest);
      counts = new Map<string, number>();
      this.#counts.set(name, counts);
    }
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
}
