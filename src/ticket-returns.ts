import type { ReleaseReply } from './backend.js';
import type { BackoffOptions } from './backoff.js';
import { backoffDelay } from './backoff.js';
import type { Clock } from './clock.js';
import { BackendError } from './errors.js';
import { GroupCommit } from './group-commit.js';
import type { Lease } from './lease.js';
import { withinLimit } from './time-limit.js';

export interface TicketReturnsOptions {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  readonly ttl: number;
  /** How long one call may take, in milliseconds. */
  readonly limit: number;
  call(ids: readonly string[]): Promise<ReleaseReply>;
  isRetryable(error: unknown): boolean;
}

interface Return {
  readonly id: string;
  /** Monotonic time by which the ticket has expired by itself. */
  readonly until: number;
  attempts: number;
  lastError: unknown;
  done: boolean;
  settle: (released: boolean, error?: BackendError) => void;
}

/**
 * Gives tickets back and withdraws requests that were abandoned, until the backend confirms it or the
 * ticket has expired by itself. Idempotent by id, so that nothing is lost when a reply is.
 */
export class TicketReturns {
  readonly #options: TicketReturnsOptions;
  readonly #lane = new GroupCommit<Return>((batch) => this.#send(batch));
  readonly #open = new Set<Return>();
  readonly #drained: (() => void)[] = [];

  constructor(options: TicketReturnsOptions) {
    this.#options = options;
  }

  /** See `Handle.release`. `remaining`: milliseconds of its lease left. */
  release(lease: Lease, remaining: number): Promise<boolean> {
    const { clock, limit } = this.#options;
    if (remaining <= 0) {
      this.withdraw(lease.ticket.id);
      return Promise.resolve(false);
    }
    return new Promise((resolve, reject) => {
      const timer = clock.schedule(
        () => {
          if (remaining <= limit) item.settle(false);
          else item.settle(false, unconfirmed(lease, item.lastError));
        },
        Math.min(remaining, limit),
        true,
      );
      const item = this.#add(lease.ticket.id, clock.monotonic() + remaining);
      item.settle = (released, error) => {
        timer.cancel();
        if (error === undefined) resolve(released);
        else reject(error);
      };
    });
  }

  /** Makes sure that nothing stays behind under `id`. Tells nobody how it went. */
  withdraw(id: string): void {
    const { clock, ttl, limit } = this.#options;
    this.#add(id, clock.monotonic() + ttl + limit);
  }

  /** Resolves when nothing is left to give back, or after the time that one call may take. */
  drained(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    const { clock, limit } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.schedule(resolve, limit, true);
      this.#drained.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #add(id: string, until: number): Return {
    const item = { id, until, attempts: 0, lastError: undefined, done: false, settle: () => {} };
    this.#open.add(item);
    this.#lane.add(item);
    return item;
  }

  async #send(batch: Return[]): Promise<void> {
    const { clock, limit } = this.#options;
    const items = batch.filter((item) => !item.done);
    if (items.length === 0) return;
    const settled = this.#options.call(items.map(({ id }) => id)).then(
      ({ released }) => items.forEach((item, i) => this.#end(item, released[i] === true)),
      (error: unknown) => this.#onError(items, error),
    );
    await withinLimit(clock, limit, settled, (error) => this.#onError(items, error));
  }

  #onError(items: readonly Return[], error: unknown): void {
    const { clock, retry } = this.#options;
    const retryable = this.#options.isRetryable(error);
    const now = clock.monotonic();
    for (const item of items) {
      if (item.done) continue;
      item.lastError = error;
      if (!retryable) this.#end(item, false, new BackendError('releasing failed', error));
      else if (now >= item.until) this.#end(item, false);
      else {
        const pause = backoffDelay(retry, item.attempts, Math.random());
        item.attempts += 1;
        clock.schedule(() => this.#lane.add(item), pause, false);
      }
    }
  }

  #end(item: Return, released: boolean, error?: BackendError): void {
    if (item.done) return;
    item.done = true;
    item.settle(released, error);
    this.#open.delete(item);
    if (this.#open.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}

function unconfirmed(lease: Lease, cause: unknown): BackendError {
  const what = `releasing ticket ${lease.ticket.id} is not confirmed; it is tried on, and at worst its lease ends by itself`;
  return new BackendError(what, cause);
}
