import { createHash } from 'node:crypto';

import { type HistoryEvent, lineOf } from '../history/events.js';
import type { Scheduler } from './world/scheduler.js';

type Unstamped<E> = E extends HistoryEvent ? Omit<E, 'at' | 'process'> : never;

/** Takes events down in their order, and what identifies the run: the SHA-256 of them all. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #scheduler: Scheduler;
  readonly #read: (event: HistoryEvent) => void;

  constructor(scheduler: Scheduler, read: (event: HistoryEvent) => void) {
    this.#scheduler = scheduler;
    this.#read = read;
  }

  record(process: string, what: Unstamped<HistoryEvent>): void {
    const event = { at: this.#scheduler.now, process, ...what };
    this.events.push(event);
    this.#read(event);
  }

  digest(): string {
    const hash = createHash('sha256');
    for (const event of this.events) hash.update(lineOf(event));
    return hash.digest('hex');
  }
}
