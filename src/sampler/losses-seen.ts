import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LostMessage } from '../telemetry-messages.js';

const CHANNEL = 'redsem:lost';

interface Heard {
  lost(this: void, message: unknown): void;
}

/** Most names that are remembered: reasons are few, names are not. */
const MOST_NAMES = 1000;

/** Counts the lost handles of this process, by the channel that reports them. */
export class LossesSeen {
  readonly #counts = new Map<string, Map<string, number>>();
  // The compiler does not know the messages of a channel. The publisher declares them as this type.
  readonly #on: Heard = { lost: (message: LostMessage): void => this.#count(message) };

  start(): void {
    this.stop();
    subscribe(CHANNEL, this.#on.lost);
  }

  stop(): void {
    unsubscribe(CHANNEL, this.#on.lost);
  }

  of(name: string): { readonly reason: string; readonly count: number }[] {
    return [...(this.#counts.get(name) ?? [])].map(([reason, count]) => ({ reason, count }));
  }

  #count({ name, reason }: LostMessage): void {
    const counts = this.#counts.get(name) ?? new Map<string, number>();
    this.#counts.set(name, counts.set(reason, (counts.get(reason) ?? 0) + 1));
    const [oldest = name] = this.#counts.keys();
    if (this.#counts.size > MOST_NAMES) this.#counts.delete(oldest);
  }
}
