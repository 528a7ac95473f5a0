import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { HistoryEvent } from './events.js';

/**
 * The files of all processes as one history, in order of time. The last line of a killed process
 * may be cut off; any other line that cannot be read is an error.
 */
export function readHistory(folder: string): HistoryEvent[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  const events = files.flatMap((file) => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1);
    return lines.map((line, index) => {
      const event = parseLine(line);
      if (isEvent(event)) return event;
      throw new Error(`${file}: line ${index + 1} of ${lines.length} is no event`);
    });
  });
  return inOrder(events);
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Only the fields that the recorder adds are checked: the compiler has checked the others. */
function isEvent(event: unknown): event is HistoryEvent {
  if (typeof event !== 'object' || event === null) return false;
  const has = (field: string, type: string): boolean => typeof Reflect.get(event, field) === type;
  return has('at', 'number') && has('process', 'string') && has('type', 'string');
}

/** A stable sort keeps the order of a process's events of the same moment. */
export function inOrder(events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.toSorted((a, b) => a.at - b.at);
}
