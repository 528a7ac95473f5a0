import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { lineOf, type NewEvent } from './events.js';
import { machineTime } from './machine-time.js';

export type Recorder = ReturnType<typeof recorderOf>;

/**
 * Writes one process's part of a history, as JSON lines in a separate file. The kernel has a line
 * before `record` returns, so a process that is killed loses at most the line under way.
 */
export function recorderOf(folder: string, process: string) {
  const file = openSync(join(folder, `${process}.jsonl`), 'ax');
  const record = (event: NewEvent): void => {
    writeSync(file, lineOf({ at: machineTime(), process, ...event }));
  };
  return { record, close: () => closeSync(file) };
}
