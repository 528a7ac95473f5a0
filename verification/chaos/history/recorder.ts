import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { lineOf, type NewEvent } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';

/**
 * Writes one process's part of a history, as JSON lines in a separate file. The kernel has a line
 * before `record` returns, so a process that is killed loses at most the line under way.
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
