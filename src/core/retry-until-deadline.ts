import type { ErrorSubject } from '../error-causes.js';
import { BackendError } from '../errors.js';
import { type Clock, randomBy } from '../time/clock.js';
import { backoffDelay, type BackoffOptions } from '../time/backoff.js';
import { CallTimeoutError, withTimeout } from '../time/call-timeout.js';

/** What a call is about: a semaphore, or a backend as a whole. */
export interface RetrySubject {
  readonly clock: Clock;
  readonly options: { readonly retry: BackoffOptions };
  /** How long a call may take with all its tries. */
  readonly callTimeoutMs: number;
  readonly client: { isRetryable(error: unknown): boolean };
  /** For errors. */
  readonly key?: ErrorSubject;
}

/**
 * A call that waits in no queue: tried until it succeeds or its time is over.
 * @param signal once it has aborted there are no more tries; it cuts no pause short
 * @throws {BackendError} that says `what` failed, with the last error as its `cause`
 * @throws the signal's reason where another try was due
 */
export async function retryUntilDeadline<R>(
  { clock, options, callTimeoutMs, client, key }: RetrySubject,
  what: string,
  call: () => Promise<R>,
  signal?: AbortSignal,
): Promise<R> {
  const deadline = clock.monotonic() + callTimeoutMs;
  let lastError: unknown;
  let left = callTimeoutMs;
  for (let round = 0; left > 0; round += 1) {
    signal?.throwIfAborted();
    try {
      return await withTimeout(clock, left, call());
    } catch (error) {
      // The error of an earlier try says more than the silence at the end.
      lastError = error instanceof CallTimeoutError ? (lastError ?? error) : error;
      if (!client.isRetryable(error)) break;
    }
    const delay = backoffDelay(options.retry, round, randomBy(clock));
    const pause = Math.min(delay, deadline - clock.monotonic());
    await new Promise<void>((resolve) => void clock.schedule(resolve, pause, true));
    left = deadline - clock.monotonic();
  }
  throw new BackendError(`${what} failed`, lastError, key);
}
