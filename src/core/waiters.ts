import { telemetry } from '../telemetry.js';
import { backoffDelay } from '../time/backoff.js';
import { randomBy } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { SemaphoreLink } from './semaphore-link.js';

/**
 * Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter
 * lease.
 */
const SAFETY_PAUSE_MS = 1500;

/**
 * How long calls must have failed for an outage, in milliseconds: 5 s, and a timer may fire a
 * little earlier than asked.
 */
const OUTAGE_MS = 4998;

export interface OutageListener {
  /**
   * Gets the last error, once per outage.
   * @returns false when no listener gets it: it is then reported again
   */
  onOutage(error: unknown): boolean;
  /** A call has succeeded. */
  onReply(): void;
}

/**
 * The pauses and the subscription that the requests of one semaphore object share. A new
 * request leaves at once; requests that were queued, or whose call failed, ask again together,
 * after pauses that grow. A pushed grant cuts the pause short. Polling is authoritative, pushes
 * only save time: losing every push costs time, never a permit.
 */
export class Waiters {
  /** Undefined without a listener: an outage is then reported to a later one. */
  listener: OutageListener | undefined;
  readonly #link: SemaphoreLink;
  /**
   * Monotonic time at which the first failed call of this outage was sent. Infinity: the outage has
   * been reported, and is not reported again.
   */
  #failingSince: number | undefined;
  /** The last call failed: pushes are not relied on until a call succeeds. */
  isFailing = false;
  #count = 0;
  readonly #nextTry: Wakeup;
  #pauses = 0;
  /** Drawn once for each pause, however many replies ask for its length. */
  #random = 0;
  /** The subscription is back after an interruption: the server may have older data since. */
  #searchesStrays = false;

  constructor(link: SemaphoreLink) {
    this.#link = link;
    this.#nextTry = new Wakeup(link.clock, true, () => this.tryAgain());
  }

  /**
   * The health of the subscription has changed. After a (re)subscription one try at once: a grant
   * may have been pushed before it. `isBack`: after an interruption.
   */
  onHealth(isHealthy: boolean, isBack: boolean): void {
    if (this.#count === 0) return;
    this.#searchesStrays ||= isBack;
    this.#startPause(0);
    // A try that is under way may have run before the subscription: once more behind it.
    if (isHealthy) this.tryAgain(true);
    else this.schedule();
  }

  onStarted(): void {
    this.#count += 1;
    this.#publishCount();
  }

  /** A call was answered in time. */
  noteReply(): void {
    this.#failingSince = undefined;
    this.listener?.onReply();
    if (this.#searchesStrays) this.#link.client.searchStrays(this.#link.call);
    this.#searchesStrays = false;
  }

  /**
   * A call of a request that waits has failed. An outage needs no timer: a call without a reply
   * fails after min(ttl, 5000) ms, and is then tried again.
   */
  noteFailure(sentAt: number, error: unknown): void {
    this.#failingSince ??= sentAt;
    const since = this.#link.clock.monotonic() - this.#failingSince;
    if (since >= OUTAGE_MS && this.listener?.onOutage(error) === true)
      this.#failingSince = Infinity;
  }

  /** A request waits no more. */
  onEnded(isGranted: boolean): void {
    this.#count -= 1;
    this.#publishCount();
    if (isGranted || this.#count === 0) this.#startPause(0);
    if (this.#count > 0) return;
    this.#nextTry.stop();
    this.#link.askAgainAt = undefined;
    this.#link.isTurn = false;
    // The time until the next call is no outage.
    if (this.#failingSince !== Infinity) this.#failingSince = undefined;
    this.#link.client.remove(this);
  }

  tryAgain(isMissed = false): void {
    this.#nextTry.stop();
    this.#startPause(this.#pauses + 1);
    for (const permit of this.#link.permits.values()) permit.askAgain?.(isMissed);
  }

  /** Sets the next try, unless an earlier one is set. */
  schedule(): void {
    if (this.#count === 0) return;
    const { clock, client, options, askAgainAt, isTurn } = this.#link;
    const now = clock.monotonic();
    if (this.isFailing || !client.healthy) {
      const pause = backoffDelay(options.retry, this.#pauses, this.#random);
      return this.#nextTry.wakeAround(now + pause, now);
    }
    if (!isTurn) this.#nextTry.wakeAround(now + SAFETY_PAUSE_MS, now);
    // A holder that died wakes no waiter, nor does a rate: they ask again when the next ticket
    // expires, or the rate allows another permit.
    if (askAgainAt !== undefined) this.wakeAt(askAgainAt);
  }

  /** The next try comes at that time of the server, or earlier. */
  wakeAt(time: number): void {
    const { clock, serverClock } = this.#link;
    const now = clock.monotonic();
    this.#nextTry.wakeBy(now + Math.max(1, serverClock.delayUntil(time)), now);
  }

  #startPause(number: number): void {
    if (number === 0 && this.#pauses === 0) return;
    this.#pauses = number;
    this.#random = randomBy(this.#link.clock);
  }

  #publishCount(): void {
    if (!telemetry.queue.hasSubscribers) return;
    telemetry.queue.publish({ name: this.#link.name, waiting: this.#count });
  }
}
