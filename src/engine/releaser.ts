import type { ReleaseReply } from '../backends/backend.js';
import { WAITER_LEASE_MS } from '../backends/protocol.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { Clock, Timer } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { BackendError } from '../errors.js';
import { GroupCommit } from '../calling/lane.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';
import { LinkedList } from './linked-list.js';
import { callWithTimeout } from '../calling/call-timeout.js';
import { SharedTimer } from '../time/shared-timer.js';

export interface ReleaserOptions {
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
  /** Monotonic time at which its lease is over: the ticket has expired by then, unless it `mayOutlive` it. */
  readonly until: number;
  /** A claim or an extension may have renewed it, or will: its ticket may outlive `until`. */
  readonly mayOutlive: boolean;
  /** Monotonic time by which the caller wants to know; Infinity: nobody does. */
  readonly answerBy: number;
  /** A try has failed that may have run all the same. */
  unsure: boolean;
  /** A try was refused: more of them are made, but nobody waits for them. */
  refused: boolean;
  lastError: unknown;
  done: boolean;
  resolve: ((released: boolean) => void) | undefined;
  reject: ((error: BackendError) => void) | undefined;
  readonly observer: ReleaseObserver | undefined;
  onEnd: (() => void) | undefined;
}

/** Pauses between tries while they are refused: whoever mends that may need a while. In milliseconds. */
const REFUSED: BackoffOptions = { min: 20, max: 1000, factor: 2, jitter: true };

/** How many that have failed are sent together. While they fail no others are: one call tells enough. */
const TRIED_TOGETHER = 1000;

/**
 * How many that have failed are kept for another try; what fails beyond is left to expire. The first are the ones to keep: they
 * were asked for before the backend went away, and what came later has hardly reached it.
 */
const MOST_FAILED = 100_000;

/**
 * Gives tickets back and withdraws requests that were abandoned, until the backend confirms it or the
 * ticket has expired by itself. Idempotent by id, so that nothing is lost when a reply is. What makes the backend
 * refuse (a full disk, rights that were taken away) passes as an outage does, so that is tried again, too.
 */
export class Releaser {
  readonly #options: ReleaserOptions;
  readonly #lane = new GroupCommit<Return>((batch, done) => this.#send(batch, done));
  /** Those whose callers wait for an answer. */
  readonly #asked = new LinkedList<Return>();
  /** Those that wait for another try, in the order in which they failed first. */
  readonly #failed = new Set<Return>();
  /** How many have neither ended nor been refused. */
  #hopeful = 0;
  readonly #drained: (() => void)[] = [];
  /** One timer for all who wait for an answer. */
  readonly #overdue: SharedTimer;
  #nextTry: Timer | undefined;
  /** The next call takes those along that have failed. */
  #due = false;
  /** Pauses since the last call that worked. */
  #pauses = 0;

  constructor(options: ReleaserOptions) {
    this.#options = options;
    this.#overdue = new SharedTimer(options.clock, true, () => this.#answerOverdue());
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
    const { claimed, extending, failures } = lease;
    // An extension that got no answer may still be served, however late.
    const mayOutlive = !claimed || extending || failures > 0;
    const item = this.#add(lease.id, now + remaining, answerBy, mayOutlive, observer);
    this.#asked.add(item);
    this.#overdue.wakeBy(answerBy, now);
    return new Promise((resolve, reject) => {
      item.resolve = resolve;
      item.reject = reject;
    });
  }

  /** Makes sure that nothing stays behind under `id`. Tells nobody how it went; `onEnd` when it is over. */
  withdraw(id: string, onEnd?: () => void): void {
    const { clock, ttl, limit } = this.#options;
    const life = Math.max(ttl, WAITER_LEASE_MS) + limit;
    this.#add(id, clock.monotonic() + life, Infinity, false).onEnd = onEnd;
  }

  /**
   * Resolves when nothing is left to give back, or nothing but what is refused, or after the time that one call may
   * take.
   */
  drained(): Promise<void> {
    if (this.#hopeful === 0) return Promise.resolve();
    const { clock, limit } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.schedule(resolve, limit, true);
      this.#drained.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #add(
    id: string,
    until: number,
    answerBy: number,
    mayOutlive: boolean,
    observer?: ReleaseObserver,
  ): Return {
    const item: Return = {
      id,
      until,
      mayOutlive,
      answerBy,
      unsure: false,
      refused: false,
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
    this.#hopeful += 1;
    this.#lane.add(item);
    return item;
  }

  /** Answers those who have waited for long enough; what they wait for is tried on. */
  #answerOverdue(): void {
    const now = this.#options.clock.monotonic();
    let next = Infinity;
    for (const item of this.#asked.toArray()) {
      if (item.answerBy > now) next = Math.min(next, item.answerBy);
      else if (item.until <= now) this.#answer(item, false);
      else this.#answer(item, false, unconfirmed(item.id, item.lastError));
    }
    if (this.#asked.size > 0) this.#overdue.wakeBy(next, now);
  }

  #send(batch: Return[], done: () => void): void {
    const { clock, limit } = this.#options;
    const now = clock.monotonic();
    const items = batch.filter((item) => this.#isWanted(item, now));
    if (this.#due) this.#addFailed(items, now);
    if (items.length === 0) return done();
    callWithTimeout(clock, limit, this.#options.call(items.map(({ id }) => id)), {
      onReply: ({ released }) => {
        const then = clock.monotonic();
        items.forEach((item, i) => this.#onReply(item, released[i] === true, then));
        this.#onSuccess();
      },
      onError: (error) => this.#onError(items, error),
      onEnd: done,
    });
  }

  /** Whether it is worth a call; what has expired while it failed is not. */
  #isWanted(item: Return, now: number): boolean {
    if (!item.done && item.lastError !== undefined && item.until <= now) this.#expire(item);
    return !item.done;
  }

  #addFailed(items: Return[], now: number): void {
    this.#due = false;
    for (const item of this.#failed) {
      if (items.length >= TRIED_TOGETHER) return;
      this.#failed.delete(item);
      if (this.#isWanted(item, now)) items.push(item);
    }
  }

  /** A try whose outcome is unknown may have released it, and then the next one finds nothing. */
  #onReply(item: Return, released: boolean, now: number): void {
    this.#end(item, released || (item.unsure && now < item.until));
  }

  #onSuccess(): void {
    this.#pauses = 0;
    this.#tryNow();
  }

  #onError(items: readonly Return[], error: unknown): void {
    const { clock, retry } = this.#options;
    const refused = !this.#options.isRetryable(error);
    const now = clock.monotonic();
    for (const item of items) {
      if (item.done) continue;
      item.lastError = error;
      if (now >= item.until) this.#expire(item);
      else this.#keep(item, refused);
    }
    if (this.#failed.size > 0) this.#tryLater(refused ? REFUSED : retry);
  }

  #keep(item: Return, refused: boolean): void {
    if (!refused) {
      item.unsure = true;
    } else if (!item.refused) {
      item.refused = true;
      this.#answer(item, false, refusal(item.id, item.lastError));
      this.#giveUpHope();
    }
    if (this.#failed.size < MOST_FAILED) this.#failed.add(item);
    else this.#end(item, false, unconfirmed(item.id, item.lastError));
  }

  #tryLater(backoff: BackoffOptions): void {
    if (this.#nextTry !== undefined || this.#due) return;
    const pause = backoffDelay(backoff, this.#pauses, randomBy(this.#options.clock));
    this.#pauses += 1;
    this.#nextTry = this.#options.clock.schedule(() => this.#tryNow(), pause, false);
  }

  /** The first of those that have failed goes, and then takes the others along. */
  #tryNow(): void {
    this.#nextTry?.cancel();
    this.#nextTry = undefined;
    if (this.#due) return;
    const [first] = this.#failed;
    if (first === undefined) return;
    this.#due = true;
    this.#failed.delete(first);
    this.#lane.add(first);
  }

  /** Its ticket may be there still: by the rest of its claim time, or by a ttl since a late extension. */
  #expire(item: Return): void {
    this.#end(item, false);
    if (item.mayOutlive) this.withdraw(item.id);
  }

  #end(item: Return, released: boolean, error?: BackendError): void {
    if (item.done) return;
    item.done = true;
    this.#failed.delete(item);
    this.#answer(item, released, error);
    item.onEnd?.();
    if (!item.refused) this.#giveUpHope();
  }

  #giveUpHope(): void {
    this.#hopeful -= 1;
    if (this.#hopeful > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #answer(item: Return, released: boolean, error?: BackendError): void {
    if (!this.#asked.remove(item)) return;
    if (this.#asked.size === 0) this.#overdue.stop();
    const { resolve, reject, observer } = item;
    item.resolve = undefined;
    item.reject = undefined;
    observer?.onReleased();
    if (error === undefined) resolve?.(released);
    else reject?.(error);
  }
}

const RETRYING = 'it is retried in the background, and the ticket expires in any case';

function unconfirmed(id: string, cause: unknown): BackendError {
  return new BackendError(`release of ticket ${id} was not confirmed in time; ${RETRYING}`, cause);
}

function refusal(id: string, cause: unknown): BackendError {
  return new BackendError(`release of ticket ${id} was refused; ${RETRYING}`, cause);
}
