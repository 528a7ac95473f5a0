import type { BackoffOptions } from './backoff.js';
import { backoffDelay } from './backoff.js';
import type { Clock } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { BackendError } from '../errors.js';
import { withinLimit } from './call-timeout.js';

export interface RetryOptions {
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
export async function retryUntilDeadline<R>(
  options: RetryOptions,
  what: string,
  call: () => Promise<R>,
): Promise<R> {
  const tries = new Tries(options, call);
  try {
    return await tries.first();
  } catch (error) {
    throw new BackendError(`${what} failed`, error);
  }
}

class Tries<R> {
  readonly #options: RetryOptions;
  readonly #call: () => Promise<R>;
  #count = 0;
  #over = false;
  #lastError: Error | undefined;

  constructor(options: RetryOptions, call: () => Promise<R>) {
    this.#options = options;
    this.#call = call;
  }

  /** What the first try that succeeds gives; rejects with the last error when the time is over. */
  first(): Promise<R> {
    const { clock, limit } = this.#options;
    return new Promise((resolve, reject) => {
      const settled = this.#next().then(resolve, reject);
      void withinLimit(clock, limit, settled, (silence) => {
        this.#over = true;
        reject(this.#lastError ?? silence);
      });
    });
  }

  async #next(): Promise<R> {
    try {
      return await this.#call();
    } catch (error) {
      if (this.#over || !this.#options.isRetryable(error)) throw error;
      this.#lastError = error instanceof Error ? error : new Error(String(error));
    }
    const { clock, retry } = this.#options;
    const pause = backoffDelay(retry, this.#count++, randomBy(clock));
    await new Promise<void>((resolve) => void clock.schedule(resolve, pause, true));
    if (this.#over) throw this.#lastError ?? new Error('given up');
    return this.#next();
  }
}
