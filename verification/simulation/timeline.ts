import type { HistoryEvent } from '../history/events.js';
import type { RunResult } from './run.js';

/** Lines at most. */
const LINES = 60;

const TICKET = /[\w-]{12}\.[0-9a-z]+[\w.~-]*/g;

/** Faults and the like: any promise may have been broken by them. */
const STRIKES: readonly HistoryEvent['type'][] = ['fault', 'server', 'stall', 'crash', 'quiet'];

/** What led to the first broken promise: faults, and the events that name its tickets. */
export function timelineOf({ events, violations: [violation] }: RunResult): string[] {
  if (violation === undefined) return [];
  const ids = [...violation.message.matchAll(TICKET)].map(([id]) => `"${id}"`);
  const lines = events.flatMap(({ at, process, ...event }) => {
    const text = JSON.stringify(event);
    const isShown = STRIKES.includes(event.type) || ids.some((id) => text.includes(id));
    return isShown ? [`${secondsOf(at)}  ${process.padEnd(7)} ${text}`] : [];
  });
  const { rule, message, at } = violation;
  const before = Math.max(0, lines.length - LINES);
  return [
    `… ${before} lines before`,
    ...lines.slice(before),
    `${secondsOf(at)}  ${rule}: ${message}`,
  ];
}

function secondsOf(at: number): string {
  return `${(at / 1000).toFixed(4).padStart(10)} s`;
}
