import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { type HistoryEvent, lineOf } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';

/**
 * An event without the fields that the recorder adds. `at` may be given, if the time was taken
 * earlier.
 */
export type NewEvent = HistoryEvent extends infer E
  ? E extends HistoryEvent
    ? Omit<E, 'at' | 'process'> & { readonly at?: number }
    : never
  : never;

/**
 * Writes one process's part of a history, as JSON lines in a separate file. Each line is handed to
 * the kernel before `record` returns, so that a process that is killed loses at most the line that
 * it was writing.
 */
export class Recorder {
  readonly process: string;
  readonly #file: number;

  constructor(folder: string, process: string) {
    this.process = process;
    this.#file = openSync(join(folder, `${process}.jsonl`), 'ax');
  }

  record(event: NewEvent): void {
    writeSync(this.#file, lineOf({ at: machineTime(), process: this.process, ...event }));
  }

  close(): void {
    closeSync(this.#file);
  }
}
