import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { HistoryEvent } from './events.js';

/**
 * The files of all processes as one history, in order of time. The last line of a killed process
 * may be cut off; any other line that cannot be read is an error.
 */
export function readHistory(folder: string): HistoryEvent[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  const lines = files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1),
  );
  return inOrder(lines.map((line): unknown => JSON.parse(line)).filter(isEvent));
}

function isEvent(event: unknown): event is HistoryEvent {
  return typeof event === 'object' && event !== null && 'at' in event && 'process' in event;
}

/** A stable sort keeps the order of a process's events of the same moment. */
export function inOrder(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
