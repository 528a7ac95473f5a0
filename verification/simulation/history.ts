import { createHash } from 'node:crypto';

import { type HistoryEvent, lineOf } from '../history/events.js';

/** Takes events down in their order, and what identifies the run: the SHA-256 of them all. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #readers: ((event: HistoryEvent) => void)[] = [];

  record(event: HistoryEvent): void {
    this.events.push(event);
    for (const read of this.#readers) read(event);
  }

  onEvent(read: (event: HistoryEvent) => void): void {
    this.#readers.push(read);
  }

  digest(): string {
    const hash = createHash('sha256');
    for (const event of this.events) hash.update(lineOf(event));
    return hash.digest('hex');
  }
}
