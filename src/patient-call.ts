import type { BackoffOptions } from './backoff.js';
import { backoffDelay } from './backoff.js';
import type { Clock } from './clock.js';
import { BackendError } from './errors.js';
import { withinLimit } from './time-limit.js';

export interface PatientCallOptions {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  /** How long it may take with all its tries, in milliseconds. */
  readonly limit: number;
  isRetryable(error: unknown): boolean;
}

/**
 * A call that nobody waits in a queue for: tried until it succeeds or its time is over.
 * @throws {BackendError} that says `what` failed, with the last error as its `cause`
 */
export function patientCall<R>(
  options: PatientCallOptions,
  what: string,
  call: () => Promise<R>,
): Promise<R> {
  const { clock, retry, limit, isRetryable } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    let last: unknown;
    const fail = (error: unknown): void => reject(new BackendError(`${what} failed`, error));
    const attempt = async (tries: number): Promise<void> => {
      while (!over) {
        try {
          return resolve(await call());
        } catch (error) {
          last = error;
          if (!isRetryable(error)) return fail(error);
        }
        await pause(clock, backoffDelay(retry, tries++, Math.random()));
      }
    };
    void withinLimit(clock, limit, attempt(0), (silence) => {
      over = true;
      fail(last ?? silence);
    });
  });
}

function pause(clock: Clock, delay: number): Promise<void> {
  return new Promise((resolve) => void clock.schedule(resolve, delay, true));
}
