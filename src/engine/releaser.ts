import type { ReleaseReply } from '../backends/backend.js';
import { WAITER_LEASE_MS } from '../backends/protocol.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { CallTerms } from '../calling/call-terms.js';
import type { ReleaseItem, ReleaseLane, ReleaseSender } from '../calling/release-lane.js';
import { callTimeout } from '../time/call-timeout.js';
import type { TicketCalls } from '../calling/ticket-calls.js';
import { BackendError } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import { IndexedList } from './indexed-list.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';

export interface ReleaserParts {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  readonly calls: TicketCalls;
  readonly terms: CallTerms;
}

const RETRYING = 'retrying in the background; the ticket expires with its lease at the latest';

/** A ticket that is given back, or a request that is withdrawn. */
class PendingRelease implements ReleaseItem, Linked<PendingRelease> {
  readonly id: string;
  /** Undefined where nobody waits for an answer. */
  readonly lease: Lease | undefined;
  /** Monotonic time at which its lease is over, as its holder knows it. */
  readonly leaseEnd: number;
  /** Monotonic time by which its caller needs an answer; Infinity: no caller waits. */
  readonly answerBy: number;
  /** Monotonic time until which it is tried. */
  readonly until: number;
  /** A try has failed that may have run all the same. */
  unsure = false;
  /** A try was refused: more of them are made, but nobody waits for them. */
  refused = false;
  lastError: unknown = undefined;
  done = false;
  sent = false;
  cancelled = false;
  repeated = false;
  resolve: ((released: boolean) => void) | undefined;
  reject: ((error: BackendError) => void) | undefined;
  previous: PendingRelease | undefined = undefined;
  next: PendingRelease | undefined = undefined;
  list: object | undefined = undefined;

  constructor(
    id: string,
    lease: Lease | undefined,
    leaseEnd: number,
    answerBy: number,
    until: number,
  ) {
    this.id = id;
    this.lease = lease;
    this.leaseEnd = leaseEnd;
    this.answerBy = answerBy;
    this.until = until;
  }
}

/**
 * Pauses between tries while they are refused, in milliseconds: an operator may need a while to
 * grant the right.
 */
const REFUSED: BackoffOptions = { min: 20, max: 1000, factor: 2, jitter: true };

/**
 * How many that have failed are sent together. While they fail no others are: one call shows
 * enough.
 */
const RETRIED_TOGETHER = 1000;

/**
 * How many that have failed are kept for another try; what fails beyond is left to expire. The
 * first are the ones to keep: they were asked for before the backend went away, and what came later
 * has hardly reached it.
 */
const MOST_FAILED = 100_000;

/**
 * Gives tickets back and withdraws requests that were abandoned, until the backend confirms it or
 * nothing can be left. Idempotent by id, so that nothing is lost when a reply is. What makes the
 * backend refuse (a full disk, rights that were taken away) passes as an outage does, so that is
 * tried again, too.
 */
export class Releaser implements ReleaseSender {
  readonly terms: CallTerms;
  gathered: ReleaseSender['gathered'] = undefined;
  readonly #lane: ReleaseLane;
  readonly #parts: ReleaserParts;
  /** Those whose callers wait for an answer. */
  readonly #asked = new IndexedList<PendingRelease>();
  /** Those that wait for another try, in the order in which they failed first. */
  readonly #failed = new Set<PendingRelease>();
  /** What `drained` waits for: those that have neither ended nor been refused, and other work. */
  #unsettled = 0;
  readonly #drained: (() => void)[] = [];
  /** One for all callers that wait for an answer. */
  readonly #overdue: Wakeup;
  readonly #nextTry: Wakeup;
  /** Pauses since the last call that worked. */
  #pauses = 0;

  constructor(parts: ReleaserParts) {
    this.#parts = parts;
    this.terms = parts.terms;
    this.#lane = parts.calls.releaseLane(parts.terms);
    this.#overdue = new Wakeup(parts.clock, true, () => this.#answerOverdue());
    // The first of those that have failed goes alone; when it succeeds, the others follow.
    this.#nextTry = new Wakeup(parts.clock, false, () => this.#retry(1));
  }

  /** See `Handle.release`. `remaining`: milliseconds of its lease left. */
  release(lease: Lease, remaining: number): Promise<boolean> {
    if (remaining <= 0) {
      this.withdraw(lease.id);
      queueMicrotask(() => lease.notifyReleased());
      return Promise.resolve(false);
    }
    const { clock } = this.#parts;
    const now = clock.monotonic();
    const leaseEnd = now + remaining;
    const answerBy = Math.min(leaseEnd, now + callTimeout(this.terms.ttl));
    const until = leaseEnd + this.#longestLife;
    const item = new PendingRelease(lease.id, lease, leaseEnd, answerBy, until);
    this.#asked.add(item);
    this.#overdue.wakeBy(answerBy, now);
    return new Promise((resolve, reject) => {
      item.resolve = resolve;
      item.reject = reject;
      this.#start(item);
    });
  }

  /** Whether a caller waits for the release of this ticket. */
  has(id: string): boolean {
    return this.#asked.get(id) !== undefined;
  }

  /** Makes sure that nothing stays behind under `id`. No caller waits for it. */
  withdraw(id: string): void {
    const now = this.#parts.clock.monotonic();
    this.#start(new PendingRelease(id, undefined, now, Infinity, now + this.#longestLife));
  }

  /**
   * How long a ticket or a request may live that its holder has given up, in milliseconds: a call
   * that got no answer may still renew it, however late. A ticket outlives its lease also where the
   * server's clock was set back.
   */
  get #longestLife(): number {
    const { ttl } = this.terms;
    return Math.max(ttl, WAITER_LEASE_MS) + callTimeout(ttl);
  }

  /**
   * Resolves when nothing is left to give back, or nothing but what is refused, or after the time
   * that one call may take.
   */
  drained(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    const { clock, terms } = this.#parts;
    return new Promise((resolve) => {
      const timer = clock.schedule(resolve, callTimeout(terms.ttl), true);
      this.#drained.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** `drained` waits for its end, too: it may bring something to give back. */
  drainAfter(work: Promise<unknown>): void {
    this.#unsettled += 1;
    void Promise.allSettled([work]).then(() => this.#settleOne());
  }

  #start(item: PendingRelease): void {
    this.#unsettled += 1;
    this.#lane.add(this, item);
  }

  /** A try whose outcome is unknown may have released it, and then the next one finds nothing. */
  onReply(items: readonly PendingRelease[], { released }: ReleaseReply): void {
    let place = 0;
    for (const item of items) {
      item.unsure ||= item.repeated;
      const done = released[place++] === true;
      this.#end(item, done || (item.unsure && this.#parts.clock.monotonic() < item.leaseEnd));
    }
    this.#pauses = 0;
    this.#nextTry.stop();
    if (this.#failed.size > 0) this.#retry(RETRIED_TOGETHER);
  }

  onFailure(items: readonly PendingRelease[], error: unknown): void {
    const { calls, clock, retry } = this.#parts;
    const refused = !calls.isRetryable(error);
    const now = clock.monotonic();
    for (const item of items) this.#onError(item, error, refused, now);
    if (this.#failed.size === 0 || this.#nextTry.at < Infinity) return;
    const pause = backoffDelay(refused ? REFUSED : retry, this.#pauses, randomBy(clock));
    this.#pauses += 1;
    this.#nextTry.wakeAround(now + pause, now);
  }

  #onError(item: PendingRelease, error: unknown, refused: boolean, now: number): void {
    if (item.done) return;
    item.lastError = error;
    if (now >= item.leaseEnd) this.#answer(item, false);
    if (!refused) {
      item.unsure = true;
    } else if (!item.refused) {
      item.refused = true;
      this.#answer(item, this.#error(item, 'was refused'));
      this.#settleOne();
    }
    if (this.#failed.size < MOST_FAILED) this.#failed.add(item);
    else this.#end(item, this.#unconfirmed(item));
  }

  /** Tries the first of those that have failed. What has surely expired is not worth a call. */
  #retry(most: number): void {
    const now = this.#parts.clock.monotonic();
    let left = most;
    for (const item of this.#failed) {
      if (left === 0) break;
      this.#failed.delete(item);
      if (item.until <= now) {
        this.#end(item, false);
      } else {
        left -= 1;
        this.#lane.add(this, item);
      }
    }
  }

  /** Answers callers that have waited for long enough; their releases are still retried. */
  #answerOverdue(): void {
    const now = this.#parts.clock.monotonic();
    let next = Infinity;
    for (const item of this.#asked.toArray()) {
      if (item.answerBy > now) next = Math.min(next, item.answerBy);
      else if (item.leaseEnd <= now) this.#answer(item, false);
      else this.#answer(item, this.#unconfirmed(item));
    }
    this.#overdue.wakeBy(next, now);
  }

  #end(item: PendingRelease, outcome: boolean | BackendError): void {
    if (item.done) return;
    item.done = true;
    this.#failed.delete(item);
    this.#answer(item, outcome);
    if (!item.refused) this.#settleOne();
  }

  #settleOne(): void {
    this.#unsettled -= 1;
    if (this.#unsettled > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #answer(item: PendingRelease, outcome: boolean | BackendError): void {
    if (!this.#asked.remove(item)) return;
    if (this.#asked.size === 0) this.#overdue.stop();
    const { resolve, reject, lease } = item;
    item.resolve = undefined;
    item.reject = undefined;
    lease?.notifyReleased();
    if (typeof outcome === 'boolean') resolve?.(outcome);
    else reject?.(outcome);
  }

  #unconfirmed(item: PendingRelease): BackendError {
    return this.#error(item, 'was not confirmed in time');
  }

  #error({ id, lastError }: PendingRelease, what: string): BackendError {
    const { key, name } = this.terms;
    const message = `release of ticket ${id} of ${JSON.stringify(name)} ${what}; ${RETRYING}`;
    return new BackendError(message, lastError, key);
  }
}
