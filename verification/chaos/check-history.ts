import { MEASURED } from '../checker/certainty.js';
import { Checker } from '../checker/checker.js';
import type { HistoryEvent, Violation } from '../history/events.js';
import { inOrder } from '../history/read-history.js';

/** The broken promises that the history of real processes shows, in order of time. */
export function checkHistory(events: readonly HistoryEvent[]): Violation[] {
  const checker = new Checker(MEASURED);
  for (const event of inOrder([...events.map(fromItsBegin), ...stopsOf(events)])) {
    checker.passTo(event.at);
    checker.read(event);
  }
  checker.end();
  return checker.violations.toSorted((a, b) => a.at - b.at);
}

/** A process writes down that it stood still when that is over. */
function fromItsBegin(event: HistoryEvent): HistoryEvent {
  return event.type === 'stall' ? { ...event, at: event.from } : event;
}

/** A stopped process writes no line about it. */
function stopsOf(events: readonly HistoryEvent[]): HistoryEvent[] {
  const faults = events.filter((event) => event.type === 'fault');
  const stops = faults.filter(({ kind, phase }) => kind === 'stop-process' && phase === 'begin');
  return stops.flatMap(({ fault, at, targets = [] }) => {
    const end = faults.find((other) => other.fault === fault && other.phase === 'end');
    const until = end?.at ?? Infinity;
    return targets.map((process) => ({ type: 'stall', process, at, from: at, until }) as const);
  });
}
