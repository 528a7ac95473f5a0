/** Names of attributes, by https://opentelemetry.io/docs/specs/semconv/general/naming/. */
export const ERROR_TYPE = 'error.type';
export const SEMAPHORE_NAME = 'redsem.semaphore.name';
export const LOST_REASON = 'redsem.lost.reason';
export const TICKET_ID = 'redsem.ticket.id';
export const PERMITS = 'redsem.permits';
export const SLOTS = 'redsem.slots';
export const FENCING_TOKEN = 'redsem.fencing_token';
export const TIMEOUT = 'redsem.acquire.timeout';
export const WAITED = 'redsem.acquire.waited';
export const ATTEMPTS = 'redsem.acquire.attempts';

/** What `error.type` says: the class, as the README's table of errors has it. */
export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Instruments and attributes tell durations in seconds. */
export function seconds(milliseconds: number): number {
  return milliseconds / 1000;
}
