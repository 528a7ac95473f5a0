import type { HistoryEvent, Violation } from '../../history/events.js';
import { assembleRun } from './assemble-run.js';
import { checkLimit, checkServer, checkSlots } from './rules/limit.js';
import { checkLiveness } from './rules/liveness.js';
import { checkCause, checkTold } from './rules/losses.js';
import { checkPhantoms } from './rules/phantoms.js';
import { checkTokens } from './rules/tokens.js';

/**
 * What servers and clients decide. How the core counts its leases and its timeouts, which neither
 * can change, is checked by the simulation, to the millisecond.
 */
const rules = [
  checkLimit,
  checkSlots,
  checkServer,
  checkTokens,
  checkTold,
  checkCause,
  checkLiveness,
  checkPhantoms,
];

/**
 * The broken promises that a history shows, in order of time.
 * @throws {MalformedHistoryError} when the history contradicts itself
 */
export function checkHistory(events: readonly HistoryEvent[]): Violation[] {
  const run = assembleRun(events);
  return rules.flatMap((rule) => rule(run)).toSorted((a, b) => a.at - b.at);
}
