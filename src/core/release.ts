import type { Costs } from '../backends/backend.js';
import { WAITER_LEASE_MS } from '../backends/protocol.js';
import { BackendError, type HandleLostError } from '../errors.js';
import { backoffDelay } from '../time/backoff.js';
import { awaitAtMost } from '../time/call-timeout.js';
import { randomBy } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Call, Item } from './batcher.js';
import type { Verdict } from './operations.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** The longest pause before a release is tried again, in milliseconds, whatever `retry` says. */
const LONGEST_PAUSE_MS = 1000;

/** How many releases that have failed are sent together: as many as a call takes. */
const RETRIED_TOGETHER = 1000;

/**
 * How many releases that have failed are kept for another try; the tickets of further failures are
 * left to expire: later requests have hardly reached the backend. Beside that number of failures
 * strays are not given back: any program may send grants.
 */
const MOST_FAILED = 100_000;

/**
 * What one semaphore object gives back: tickets, and requests that were abandoned. Each is tried
 * until the backend confirms it or nothing can be left of it. What makes the backend refuse (a full
 * disk, rights that were taken away) passes as an outage does, so that is tried again, too.
 */
export class Releases {
  readonly #link: SemaphoreLink;
  /** Releases that wait for another try, in the order of their last. */
  readonly #failed = new Set<Release>();
  /** Releases whose calls have no answer yet, and other work that `drained` waits for. */
  #underWay = 0;
  /** The last call that has failed was refused: `drained` does not wait for another try. */
  #isRefused = false;
  #onDrained: (() => void) | undefined;
  readonly #nextTry: Wakeup;
  /** Pauses since the last call that worked. */
  #pauses = 0;
  /** The monotonic time of the latest turn: requests of this process may live until then. */
  turnAt: number = -Infinity;

  constructor(link: SemaphoreLink) {
    this.#link = link;
    this.#nextTry = new Wakeup(link.clock, false, () => this.#retry());
  }

  /**
   * Makes sure that nothing stays behind under an id that no object of this process knows, or
   * wants.
   */
  giveBack(id: string): void {
    if (this.#underWay + this.#failed.size >= MOST_FAILED) return;
    const stray = new Release(this.#link, id);
    this.#link.permits.set(id, stray);
    stray.withdraw();
  }

  /**
   * Resolves when nothing is left to give back, or nothing but what is refused, or after the time
   * that one call may take.
   */
  async drained(): Promise<void> {
    if (this.#isDrained) return;
    const drained = new Promise<void>((resolve) => (this.#onDrained = resolve));
    await awaitAtMost(this.#link.clock, this.#link.callTimeoutMs, drained);
  }

  get #isDrained(): boolean {
    return this.#underWay === 0 && (this.#isRefused || this.#failed.size === 0);
  }

  /** `drained` waits for the end of `work`, too: it may bring something to give back. */
  drainAfter(work: Promise<unknown>): void {
    this.#underWay += 1;
    void Promise.allSettled([work]).then(() => this.#onEnded());
  }

  /** `calls`: how many were under way. A late reply ends a release whose call counts no more. */
  #onEnded(calls = 1): void {
    this.#underWay -= calls;
    if (this.#isDrained) this.#onDrained?.();
  }

  /** @internal */
  send(release: Release): void {
    // First: a clock of the user's own may throw.
    this.#link.batchers.releases.add(this.#link.toRelease, release);
    this.#underWay += 1;
  }

  /** @internal Its call has worked: releases that have failed are tried again at once. */
  onWorked(release: Release, isLate: boolean): void {
    this.#failed.delete(release);
    this.#link.forget(release);
    this.#pauses = 0;
    this.#isRefused = false;
    this.#nextTry.stop();
    if (this.#failed.size > 0) this.#retry();
    this.#onEnded(isLate ? 0 : 1);
  }

  /** @internal Its call has failed. `isWanted`: something may be left to give back. */
  onFailed(release: Release, isRefused: boolean, isWanted: boolean): void {
    const { clock, options } = this.#link;
    const now = clock.monotonic();
    this.#isRefused = isRefused;
    if (isWanted && this.#failed.size < MOST_FAILED) {
      this.#failed.add(release);
    } else {
      release.giveUp(now);
      this.#link.forget(release);
    }
    if (this.#failed.size > 0 && this.#nextTry.at === Infinity) {
      const pause = backoffDelay(options.retry, this.#pauses, randomBy(clock));
      this.#pauses += 1;
      this.#nextTry.wakeAround(now + Math.min(pause, LONGEST_PAUSE_MS), now);
    }
    this.#onEnded();
  }

  #retry(): void {
    let left = RETRIED_TOGETHER;
    for (const release of this.#failed) {
      if (left === 0) break;
      left -= 1;
      this.#failed.delete(release);
      this.send(release);
    }
  }
}

/** Hears of the end of a lease, and of its extensions. */
export interface PermitObserver {
  onLost(error: HandleLostError): void;
  /** Its release has ended. */
  onReleased(): void;
  /**
   * An extension was confirmed. From the first extension on the observer may be held by a WeakRef,
   * if only its own holder would miss it.
   */
  onExtended(): void;
}

/** Where a permit is in its life. */
export type Stage =
  /** A request: its next call is gathering or under way. */
  | 'sent'
  /** A request: the backend has it in its queue, or its last call failed. It asks again. */
  | 'waiting'
  | 'held'
  /** A request that was refused or abandoned, or a lease that was lost or is left to expire. */
  | 'over'
  /** It is being given back, or was. */
  | 'leaving';

/**
 * A ticket that is given back, or a request that is withdrawn: which of the two an id is, only the
 * backend knows for sure. Idempotent by id, so that nothing is lost when a reply is.
 */
export class Release implements Item<never> {
  readonly link: SemaphoreLink;
  readonly id: string;
  stage: Stage = 'over';
  /** The units that it has spent of budgets, where its holder says so. */
  spent: Costs | undefined = undefined;
  /** Of the last call that failed. */
  lastError: unknown = undefined;
  /** Monotonic time by which its caller needs an answer; Infinity: no caller waits. */
  deadline: number = Infinity;
  observer: PermitObserver | WeakRef<PermitObserver> | undefined;
  /** How many calls have carried it: acquires, and from its release on releases alone. */
  protected attempts = 0;
  /** Monotonic time at which its lease is over, as its holder knows it; once it is given back. */
  #leaseEnd = -Infinity;
  #settle: ((outcome: boolean | Promise<never>) => void) | undefined;

  constructor(link: SemaphoreLink, id: string) {
    this.link = link;
    this.id = id;
  }

  /** Makes sure that nothing stays behind under its id. No caller waits for it. */
  withdraw(): void {
    // A call that was late may have run behind the first withdrawal. A caller that waits for a
    // release gets the answer to either call: the later call may overtake the earlier call.
    if (this.#settle !== undefined) this.link.releases.send(this);
    else if (this.#leaseEnd > -Infinity) new Release(this.link, this.id).withdraw();
    else this.#begin(this.link.clock.monotonic(), 0);
  }

  /** `remaining`: milliseconds of its lease left. */
  protected giveBack(now: number, remaining: number): Promise<boolean> {
    if (remaining <= 0) {
      // Its loss may have given it back already.
      if (this.stage !== 'leaving') this.withdraw();
      queueMicrotask(() => this.getObserver()?.onReleased());
      return Promise.resolve(false);
    }
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.deadline = now + Math.min(remaining, this.link.callTimeoutMs);
      this.link.onAsked(this.deadline, now);
      this.#begin(now, remaining);
    });
  }

  #begin(now: number, remaining: number): void {
    this.stage = 'leaving';
    this.attempts = 0;
    this.lastError = undefined;
    this.#leaseEnd = now + remaining;
    this.link.releases.send(this);
  }

  joinCall(_call: Call): boolean {
    this.attempts += 1;
    return true;
  }

  /** A try whose outcome is unknown may have released it, and then the next try finds nothing. */
  answer(isReleased: Verdict, call: Call): void {
    const mayHave = this.attempts > 1 && this.link.clock.monotonic() < this.#leaseEnd;
    this.#answer(isReleased === true || mayHave);
    this.link.releases.onWorked(this, call.late);
  }

  fail(error: unknown, _call: Call): void {
    const { client, clock, options, callTimeoutMs, releases } = this.link;
    const isRefused = !client.isRetryable(error);
    const now = clock.monotonic();
    this.lastError = error;
    if (now >= this.#leaseEnd) this.#answer(false);
    else if (isRefused) this.#answer(this.#error('was refused'));
    // A call that got no answer may still renew it, however late. A ticket outlives its lease also
    // where the server's clock was set back.
    const longest = Math.max(options.ttl, WAITER_LEASE_MS) + callTimeoutMs;
    // Under the id of a permit that was held, no request waits for a turn.
    const turnAt = this.observer === undefined ? releases.turnAt : -Infinity;
    releases.onFailed(this, isRefused, now < Math.max(this.#leaseEnd, turnAt) + longest);
  }

  /** Ends it if its caller has waited for long enough. True: it has. */
  endIfOverdue(now: number): boolean {
    const isOverdue = this.deadline <= now;
    if (isOverdue) this.giveUp(now);
    else this.link.deadlines.wakeBy(this.deadline, now);
    return isOverdue;
  }

  /** Its caller has waited for long enough; it is still retried. */
  giveUp(now: number): void {
    this.#answer(this.#leaseEnd <= now ? false : this.#error('was not confirmed in time'));
  }

  #answer(outcome: boolean | BackendError): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    this.#settle = undefined;
    this.deadline = Infinity;
    this.link.onAnswered();
    this.getObserver()?.onReleased();
    settle(typeof outcome === 'boolean' ? outcome : Promise.reject(outcome));
  }

  protected getObserver(): PermitObserver | undefined {
    return this.observer instanceof WeakRef ? this.observer.deref() : this.observer;
  }

  #error(what: string): BackendError {
    const { key, name } = this.link;
    const retrying = 'retrying in the background; the ticket expires with its lease at the latest';
    const message = `release of ticket ${this.id} of ${JSON.stringify(name)} ${what}; ${retrying}`;
    return new BackendError(message, this.lastError, key);
  }
}
