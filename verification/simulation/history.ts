import { createHash } from 'node:crypto';

import { type HistoryEvent, lineOf } from '../history/events.js';

/** Takes events down in their order, and what identifies the run: the SHA-256 of them all. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #hash = createHash('sha256');
  readonly #readers: ((event: HistoryEvent) => void)[] = [];

  record(event: HistoryEvent): void {
    this.events.push(event);
    this.#hash.update(lineOf(event));
    for (const read of this.#readers) read(event);
  }

  onEvent(read: (event: HistoryEvent) => void): void {
    this.#readers.push(read);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}
