import type { Costs, PushedGrant, PushedTurn } from '../backends/backend.js';
import { WAITER_LEASE_MS } from '../backends/protocol.js';
import { BackendError } from '../errors.js';
import { randomBy } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { BackoffOptions } from '../time/backoff.js';
import { backoffDelay } from '../time/backoff.js';
import type { Call } from './batcher.js';
import type { ReleaseItem, Verdict } from './operations.js';
import type { Permit } from './registry.js';
import type { SemaphoreLink } from './semaphore-link.js';

/**
 * Pauses between tries while they are refused, in milliseconds: an operator may need a while to
 * grant the right.
 */
const REFUSED: BackoffOptions = { min: 20, max: 1000, factor: 2, jitter: true };

/** How many releases that have failed are sent together, once one has worked again. */
const RETRIED_TOGETHER = 1000;

/**
 * How many releases that have failed are kept for another try; what fails beyond is left to expire.
 * The first are the ones to keep: they were asked for before the backend went away, and what came
 * later has hardly reached it.
 */
const MOST_FAILED = 100_000;

/** How many strays are given back at once: any program may send grants. */
const MOST_STRAYS = 1000;

/**
 * What one semaphore object gives back: tickets, and requests that were abandoned. Each is tried
 * until the backend confirms it or nothing can be left of it. What makes the backend refuse (a full
 * disk, rights that were taken away) passes as an outage does, so that is tried again, too.
 */
export class Releases {
  readonly link: SemaphoreLink;
  /** What waits for another try, in the order of the first failures. */
  readonly #failed = new Set<Release>();
  readonly #strays = new Set<Release>();
  /** What `drained` waits for: what has neither ended nor been refused, and other work. */
  #unsettled = 0;
  readonly #drained: (() => void)[] = [];
  /** How many callers wait for an answer. */
  #callers = 0;
  /** One for all callers that wait for an answer. */
  readonly #overdue: Wakeup;
  readonly #nextTry: Wakeup;
  /** Pauses since the last call that worked. */
  #pauses = 0;

  constructor(link: SemaphoreLink) {
    this.link = link;
    this.#overdue = new Wakeup(link.clock, true, () => this.#answerOverdue());
    // The first release that has failed goes alone; when it succeeds, the others follow.
    this.#nextTry = new Wakeup(link.clock, false, () => this.#retry(1));
  }

  /**
   * Makes sure that nothing stays behind under an id that no object of this process knows, or
   * wants.
   */
  giveBack(id: string): void {
    if (this.#strays.size === MOST_STRAYS) return;
    const stray = new Release(this, id);
    this.#strays.add(stray);
    this.link.permits.add(stray);
    stray.withdraw();
  }

  /**
   * Resolves when nothing is left to give back, or nothing but what is refused, or after the time
   * that one call may take.
   */
  drained(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    const { clock, callTimeoutMs } = this.link;
    return new Promise((resolve) => {
      const timer = clock.schedule(resolve, callTimeoutMs, true);
      this.#drained.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** `drained` waits for the end of `work`, too: it may bring something to give back. */
  drainAfter(work: Promise<unknown>): void {
    this.#unsettled += 1;
    void Promise.allSettled([work]).then(() => this.#settleOne());
  }

  /** @internal `answerBy`: when its caller needs an answer; Infinity: no caller waits. */
  start(release: Release, answerBy: number, now: number): void {
    this.#unsettled += 1;
    if (answerBy < Infinity) {
      this.#callers += 1;
      this.#overdue.wakeBy(answerBy, now);
    }
    this.link.releases.add(release);
  }

  /** @internal A call has worked: what has failed is tried again at once. */
  onWorked(): void {
    this.#pauses = 0;
    this.#nextTry.stop();
    if (this.#failed.size > 0) this.#retry(RETRIED_TOGETHER);
  }

  /** @internal False when there is no room to keep it for another try. */
  onFailed(release: Release, isRefused: boolean, now: number): boolean {
    if (this.#failed.size >= MOST_FAILED) return false;
    this.#failed.add(release);
    if (this.#nextTry.at < Infinity) return true;
    const { clock, retry } = this.link;
    const pause = backoffDelay(isRefused ? REFUSED : retry, this.#pauses, randomBy(clock));
    this.#pauses += 1;
    this.#nextTry.wakeAround(now + pause, now);
    return true;
  }

  /** @internal Its caller has an answer. */
  onAnswered(release: Release): void {
    this.link.permits.remove(release);
    this.#callers -= 1;
    if (this.#callers === 0) this.#overdue.stop();
  }

  /** @internal `isSettled`: `drained` waits for it no more already. */
  onEnded(release: Release, isSettled: boolean): void {
    this.#failed.delete(release);
    if (this.#strays.delete(release)) this.link.permits.remove(release);
    if (!isSettled) this.#settleOne();
  }

  /** @internal It is refused: `drained` does not wait for it. */
  onRefused(): void {
    this.#settleOne();
  }

  /** What has surely expired is not worth a call. */
  #retry(most: number): void {
    const now = this.link.clock.monotonic();
    let left = most;
    for (const release of this.#failed) {
      if (left === 0) break;
      this.#failed.delete(release);
      if (!release.isOver(now)) {
        left -= 1;
        this.link.releases.add(release);
      }
    }
  }

  /** Answers callers that have waited for long enough; their releases are still retried. */
  #answerOverdue(): void {
    const now = this.link.clock.monotonic();
    let next = Infinity;
    for (const permit of this.link.permits.all()) next = Math.min(next, permit.answerIfDue(now));
    this.#overdue.wakeBy(next, now);
  }

  #settleOne(): void {
    this.#unsettled -= 1;
    if (this.#unsettled > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}

/**
 * A ticket that is given back, or a request that is withdrawn: which of the two an id is, only the
 * backend knows for sure. Idempotent by id, so that nothing is lost when a reply is.
 */
export class Release implements ReleaseItem, Permit {
  readonly id: string;
  place = -1;
  /** What it has spent of budgets, where its holder says so. */
  spent: Costs | undefined = undefined;
  /** Of the last call that failed. */
  lastError: unknown = undefined;
  readonly #releases: Releases;
  #isBegun = false;
  #isDone = false;
  /** It has left, and was not answered since. */
  #isUnderWay = false;
  /** A try has failed that may have run all the same. */
  #isUnsure = false;
  /** A try was refused: more of them are made, but no caller waits for them. */
  #isRefused = false;
  /** Monotonic time at which its lease is over, as its holder knows it. */
  #leaseEnd = 0;
  /** Monotonic time by which its caller needs an answer; Infinity: no caller waits. */
  #answerBy = Infinity;
  #resolve: ((released: boolean) => void) | undefined;
  #reject: ((error: BackendError) => void) | undefined;

  constructor(releases: Releases, id: string) {
    this.#releases = releases;
    this.id = id;
  }

  get link(): SemaphoreLink {
    return this.#releases.link;
  }

  /** Makes sure that nothing stays behind under its id. No caller waits for it. */
  withdraw(): void {
    // A call that was late may have run behind the first withdrawal.
    if (this.#isBegun) new Release(this.#releases, this.id).withdraw();
    else this.#begin(0);
  }

  /** `remaining`: milliseconds of its lease left. */
  protected giveBack(remaining: number): Promise<boolean> {
    if (remaining <= 0) {
      this.withdraw();
      queueMicrotask(() => this.onReleased());
      return Promise.resolve(false);
    }
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#begin(remaining);
    });
  }

  #begin(remaining: number): void {
    const { clock, callTimeoutMs } = this.link;
    const now = clock.monotonic();
    this.#isBegun = true;
    this.lastError = undefined;
    this.#leaseEnd = now + remaining;
    if (this.#resolve !== undefined) this.#answerBy = now + Math.min(remaining, callTimeoutMs);
    this.#releases.start(this, this.#answerBy, now);
  }

  leave(_call: Call): boolean {
    // It was sent again, after a call that was refused: that call may have done it all the same.
    if (this.#isUnderWay) this.#isUnsure = true;
    this.#isUnderWay = true;
    return true;
  }

  /** A try whose outcome is unknown may have released it, and then the next one finds nothing. */
  answer(isReleased: Verdict, _call: Call): void {
    this.#isUnderWay = false;
    const isHeld = this.link.clock.monotonic() < this.#leaseEnd;
    this.#end(isReleased === true || (this.#isUnsure && isHeld));
    this.#releases.onWorked();
  }

  fail(error: unknown, _call: Call): void {
    if (this.#isDone) return;
    const isRefused = !this.link.client.isRetryable(error);
    const now = this.link.clock.monotonic();
    this.#isUnderWay = false;
    this.lastError = error;
    if (now >= this.#leaseEnd) this.#answer(false);
    if (!isRefused) {
      this.#isUnsure = true;
    } else if (!this.#isRefused) {
      this.#isRefused = true;
      this.#answer(this.#error('was refused'));
      this.#releases.onRefused();
    }
    if (!this.#releases.onFailed(this, isRefused, now)) this.#end(this.#error(UNCONFIRMED));
  }

  /**
   * @internal Whether nothing can be left of it. A call that got no answer may still renew it,
   *   however late. A ticket outlives its lease also where the server's clock was set back.
   */
  isOver(now: number): boolean {
    const { ttl, callTimeoutMs } = this.link;
    const longestLife = Math.max(ttl, WAITER_LEASE_MS) + callTimeoutMs;
    if (now < this.#leaseEnd + longestLife) return false;
    this.#end(false);
    return true;
  }

  answerIfDue(now: number): number {
    if (this.#answerBy > now) return this.#answerBy;
    this.#answer(this.#leaseEnd <= now ? false : this.#error(UNCONFIRMED));
    return Infinity;
  }

  #end(outcome: boolean | BackendError): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#answer(outcome);
    this.#releases.onEnded(this, this.#isRefused);
  }

  #answer(outcome: boolean | BackendError): void {
    const [resolve, reject] = [this.#resolve, this.#reject];
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#reject = undefined;
    this.#answerBy = Infinity;
    this.#releases.onAnswered(this);
    this.onReleased();
    if (typeof outcome === 'boolean') resolve(outcome);
    else reject?.(outcome);
  }

  /** Its release has ended. */
  protected onReleased(): void {}

  // Given back as a stray, it would be gone before its release comes to find it.
  onGrant(_grant: PushedGrant): void {}

  onTurn(_turn: PushedTurn): void {}

  onReportedGone(): void {}

  lose(_reason: string, _cause?: unknown): void {}

  #error(what: string): BackendError {
    const { key, name } = this.link;
    const message = `release of ticket ${this.id} of ${JSON.stringify(name)} ${what}; ${RETRYING}`;
    return new BackendError(message, this.lastError, key);
  }
}

const UNCONFIRMED = 'was not confirmed in time';
const RETRYING = 'retrying in the background; the ticket expires with its lease at the latest';
