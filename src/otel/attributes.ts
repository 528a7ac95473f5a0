import { describe } from '../error-causes.js';
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

/** What `error.type` says: the class, as docs/reference/errors.md has it. */
export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}

/**
 * The same of a request that failed. A caller may abort it with any reason, and a metrics store
 * keeps a series for each type: what is neither of this package nor of the language is `_OTHER`.
 */
export function requestErrorType(error: unknown): string {
  const known = isRedsemError(error) || error instanceof DOMException;
  const badArgument = error instanceof TypeError || error instanceof RangeError;
  return known || badArgument ? error.name : '_OTHER';
}

export function errorMessage(error: unknown): string {
  return describe(error);
}

/** Instruments and attributes give durations in seconds. */
export function seconds(milliseconds: number): number {
  return milliseconds / 1000;
}
