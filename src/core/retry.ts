import type { ErrorSubject } from '../error-causes.js';
import { BackendError } from '../errors.js';
import { type Clock, randomBy } from '../time/clock.js';
import { onceAborted } from './abort-fanout.js';
import { backoffDelay, type BackoffOptions } from '../time/backoff.js';
import { CallTimeoutError, withTimeout } from '../time/call-timeout.js';

export interface RetryOptions {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  /** How long it may take with all its tries. */
  readonly timeoutMs: number;
  /** The semaphore that the call is about, for errors. */
  readonly subject?: ErrorSubject;
  /** Once it has aborted there are no more tries. */
  readonly signal?: AbortSignal;
  isRetryable(error: unknown): boolean;
}

/**
 * A call that waits in no queue: tried until it succeeds or its time is over.
 * @throws {BackendError} that says `what` failed, with the last error as its `cause`
 * @throws the signal's reason where another try was due
 */
export async function retryUntilDeadline<R>(
  options: RetryOptions,
  what: string,
  call: () => Promise<R>,
): Promise<R> {
  const { clock, retry, timeoutMs } = options;
  const deadline = clock.monotonic() + timeoutMs;
  let lastError: unknown;
  for (let round = 0; ; round += 1) {
    const left = deadline - clock.monotonic();
    try {
      if (left <= 0) throw lastError;
      return await withTimeout(clock, left, call());
    } catch (error) {
      // The error of an earlier try says more than the silence at the end.
      if (lastError === undefined || !(error instanceof CallTimeoutError)) lastError = error;
      const over = error instanceof CallTimeoutError || left <= 0;
      if (over || !options.isRetryable(error)) {
        throw new BackendError(`${what} failed`, lastError, options.subject);
      }
    }
    const rest = deadline - clock.monotonic();
    await pause(options, Math.min(backoffDelay(retry, round, randomBy(clock)), rest));
    options.signal?.throwIfAborted();
  }
}

/** Over at once when the signal aborts. */
async function pause({ clock, signal }: RetryOptions, delay: number): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      timer.cancel();
      forget?.();
      resolve();
    };
    const timer = clock.schedule(end, Math.max(0, delay), true);
    const forget = signal && onceAborted(signal, end);
  });
}
