/**
 * The server behind a backend can never keep what a semaphore promises: no call to it is worth
 * another try.
 */
export class UnfitServerError extends Error {
  constructor(what: string, cause?: unknown) {
    const needs = 'redsem needs Redis 6.2 or newer, or Valkey; of this server';
    super(`${needs}: ${what}`, cause === undefined ? undefined : { cause });
    this.name = 'UnfitServerError';
  }
}
