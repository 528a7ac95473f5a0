import { createHash } from 'node:crypto';

import { type HistoryEvent, lineOf, type NewEvent } from '../history/events.js';
import type { Scheduler } from './world/scheduler.js';

/** The events in their order, and their SHA-256, which identifies the run. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #scheduler: Scheduler;
  readonly #read: (event: HistoryEvent) => void;

  constructor(scheduler: Scheduler, read: (event: HistoryEvent) => void) {
    this.#scheduler = scheduler;
    this.#read = read;
  }

  record(process: string, what: NewEvent): void {
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
