import { isRedsemError } from '../errors.js';

/** Names of attributes, by https://opentelemetry.io/docs/specs/semconv/general/naming/. */
export const ERROR_TYPE = 'error.type';
export const SEMAPHORE_NAME = 'redsem.semaphore.name';
export const BUDGET_NAME = 'redsem.budget.name';
export const GROUP_NAME = 'redsem.group.name';
export const LOST_REASON = 'redsem.lost.reason';
export const TICKET_ID = 'redsem.ticket.id';
export const PERMITS = 'redsem.permits';
export const SLOTS = 'redsem.slots';
export const FENCING_TOKEN = 'redsem.fencing_token';
export const TIMEOUT = 'redsem.acquire.timeout';
export const WAITED = 'redsem.acquire.waited';
export const ATTEMPTS = 'redsem.acquire.attempts';

/** The value of `error.type`: the class, as in docs/reference/errors.md. */
export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}

/**
 * The value of `error.type` for a request that failed. A caller may abort with any reason, and a
 * metrics store keeps a series for each type, so a class that is neither this package's nor the
 * language's is `_OTHER`.
 */
export function requestErrorType(error: unknown): string {
  const known = isRedsemError(error) || error instanceof DOMException;
  const badArgument = error instanceof TypeError || error instanceof RangeError;
  return known || badArgument ? error.name : '_OTHER';
}

/** Instruments and attributes have durations in seconds. */
export function seconds(milliseconds: number): number {
  return milliseconds / 1000;
}
