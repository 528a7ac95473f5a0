import type { HistoryEvent, Violation } from '../../history/events.js';
import { assembleRun } from './assemble-run.js';
import { checkDeadlines } from './rules/deadlines.js';
import { checkLimit, checkServer, checkSlots } from './rules/limit.js';
import { checkLiveness } from './rules/liveness.js';
import {
  checkBlind,
  checkCause,
  checkCertainty,
  checkLossTime,
  checkLostOnce,
  checkTold,
} from './rules/losses.js';
import { checkOrder } from './rules/order.js';
import { checkPhantoms } from './rules/phantoms.js';
import { checkTokens } from './rules/tokens.js';
import type { RunRecord } from './run-record.js';

const rules = [
  checkLimit,
  checkSlots,
  checkServer,
  checkTokens,
  checkOrder,
  checkTold,
  checkCertainty,
  checkLossTime,
  checkLostOnce,
  checkBlind,
  checkCause,
  checkDeadlines,
  checkLiveness,
  checkPhantoms,
];

/**
 * What a history shows of promises that were not kept, in order of time. Takes O(n log n) for
 * sorting and O(n) for the rest, with n events.
 * @throws {MalformedHistoryError} when the history contradicts itself
 */
export function checkHistory(events: readonly HistoryEvent[]): Violation[] {
  return checkRun(assembleRun(events));
}

export function checkRun(run: RunRecord): Violation[] {
  return rules.flatMap((rule) => rule(run)).toSorted((a, b) => a.at - b.at);
}
