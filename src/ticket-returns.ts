import type { ReleaseReply } from './backend.js';
import { WAITER_LEASE } from './backend.js';
import type { BackoffOptions } from './backoff.js';
import { backoffDelay } from './backoff.js';
import type { Clock } from './clock.js';
import { BackendError } from './errors.js';
import { GroupCommit } from './group-commit.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';
import { LinkedList } from './linked-list.js';
import { settleWithin } from './time-limit.js';
import { WakeTimer } from './wake-timer.js';

export interface TicketReturnsOptions {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  readonly ttl: number;
  /** How long one call may take, in milliseconds. */
  readonly limit: number;
  call(ids: readonly string[]): Promise<ReleaseReply>;
  isRetryable(error: unknown): boolean;
}

/** Told when a release has ended. */
export interface ReleaseObserver {
  onReleased(): void;
}

interface Return extends Linked<Return> {
  readonly id: string;
  /** Monotonic time by which the ticket has expired by itself. */
  readonly until: number;
  /** Monotonic time by which the caller wants to know; Infinity: nobody does. */
  readonly answerBy: number;
  attempts: number;
  lastError: unknown;
  done: boolean;
  resolve: ((released: boolean) => void) | undefined;
  reject: ((error: BackendError) => void) | undefined;
  readonly observer: ReleaseObserver | undefined;
  onEnd: (() => void) | undefined;
}

/**
 * Gives tickets back and withdraws requests that were abandoned, until the backend confirms it or the
 * ticket has expired by itself. Idempotent by id, so that nothing is lost when a reply is.
 */
export class TicketReturns {
  readonly #options: TicketReturnsOptions;
  readonly #lane = new GroupCommit<Return>((batch, done) => this.#send(batch, done));
  readonly #open = new LinkedList<Return>();
  readonly #drained: (() => void)[] = [];
  /** One timer for all who wait for an answer. */
  readonly #overdue: WakeTimer;

  constructor(options: TicketReturnsOptions) {
    this.#options = options;
    this.#overdue = new WakeTimer(options.clock, true, () => this.#answerOverdue());
  }

  /** See `Handle.release`. `remaining`: milliseconds of its lease left. */
  release(lease: Lease, remaining: number, observer: ReleaseObserver): Promise<boolean> {
    if (remaining <= 0) {
      this.withdraw(lease.id);
      // Not before the caller has its promise: who is told may ask for the release once more.
      return Promise.resolve().then(() => {
        observer.onReleased();
        return false;
      });
    }
    const now = this.#options.clock.monotonic();
    const answerBy = now + Math.min(remaining, this.#options.limit);
    const item = this.#add(lease.id, now + remaining, answerBy, observer);
    this.#overdue.wakeBy(answerBy, now);
    return new Promise((resolve, reject) => {
      item.resolve = resolve;
      item.reject = reject;
    });
  }

  /** Makes sure that nothing stays behind under `id`. Tells nobody how it went; `onEnd` when it is over. */
  withdraw(id: string, onEnd?: () => void): void {
    const { clock, ttl, limit } = this.#options;
    const life = Math.max(ttl, WAITER_LEASE) + limit;
    this.#add(id, clock.monotonic() + life, Infinity, undefined).onEnd = onEnd;
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

  #add(id: string, until: number, answerBy: number, observer: ReleaseObserver | undefined): Return {
    const item: Return = {
      id,
      until,
      answerBy,
      attempts: 0,
      lastError: undefined,
      done: false,
      resolve: undefined,
      reject: undefined,
      observer,
      onEnd: undefined,
      previous: undefined,
      next: undefined,
      list: undefined,
    };
    this.#open.add(item);
    this.#lane.add(item);
    return item;
  }

  /** Answers those who have waited for long enough; what they wait for is tried on. */
  #answerOverdue(): void {
    const now = this.#options.clock.monotonic();
    let next = Infinity;
    for (const item of this.#open.toArray()) {
      if (item.resolve === undefined) continue;
      if (item.answerBy > now) next = Math.min(next, item.answerBy);
      else if (item.until <= now) this.#answer(item, false);
      else this.#answer(item, false, unconfirmed(item.id, item.lastError));
    }
    this.#overdue.wakeBy(next, now);
  }

  #send(batch: Return[], done: () => void): void {
    const { clock, limit } = this.#options;
    const items = batch.filter((item) => !item.done);
    if (items.length === 0) return done();
    settleWithin(clock, limit, this.#options.call(items.map(({ id }) => id)), {
      onReply: ({ released }) => {
        const now = clock.monotonic();
        items.forEach((item, i) => this.#onReply(item, released[i] === true, now));
      },
      onError: (error) => this.#onError(items, error),
      onEnd: done,
    });
  }

  /** A try whose outcome is unknown may have released it, and then the next one finds nothing. */
  #onReply(item: Return, released: boolean, now: number): void {
    this.#end(item, released || (item.attempts > 0 && now < item.until));
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
    this.#open.remove(item);
    this.#answer(item, released, error);
    item.onEnd?.();
    if (this.#open.size > 0) return;
    this.#overdue.stop();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #answer(item: Return, released: boolean, error?: BackendError): void {
    const { resolve, reject, observer } = item;
    if (resolve === undefined) return;
    item.resolve = undefined;
    item.reject = undefined;
    observer?.onReleased();
    if (error === undefined) resolve(released);
    else reject?.(error);
  }
}

function unconfirmed(id: string, cause: unknown): BackendError {
  const what = `releasing ticket ${id} is not confirmed; it is tried on, and at worst its lease ends by itself`;
  return new BackendError(what, cause);
}
