import type { HeldHere } from '../errors.js';
import { telemetry } from '../telemetry.js';
import { backoffDelay } from '../time/backoff.js';
import { randomBy } from '../time/clock.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Inbox, InboxReader } from './inbox.js';
import type { Lease, LeaseWatch } from './lease.js';
import { OutageWatch } from './outage-watch.js';
import type { LocalSemaphore, Permit } from './registry.js';
import type { AcquireParams, WaitingRoom } from './request.js';
import { Request } from './request.js';
import type { SemaphoreLink } from './semaphore-link.js';

/**
 * Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter
 * lease.
 */
const SAFETY_PAUSE_MS = 1500;

/**
 * All waiters of one semaphore object. A new request leaves at once; requests that were queued, or
 * whose call failed, ask again together, after pauses that grow. A pushed grant cuts the pause
 * short. Polling is authoritative, pushes only save time: losing every push costs time, never a
 * permit.
 */
export class Waiters implements WaitingRoom, InboxReader, LocalSemaphore {
  readonly link: SemaphoreLink;
  readonly watch: LeaseWatch;
  readonly inbox: Inbox;
  readonly outage: OutageWatch = new OutageWatch();
  isFailing = false;
  #count = 0;
  readonly #nextTry: Wakeup;
  readonly #deadlines: Wakeup;
  #pauses = 0;
  /** Drawn once for each pause, however many replies ask for its length. */
  #random = 0;
  /** Whether the inbox knows that a request waits. */
  #isListening = false;
  /** Interruptions of the subscription that it has seen, or in which no request waited. */
  #interruptions = 0;

  constructor(link: SemaphoreLink, watch: LeaseWatch, inbox: Inbox) {
    this.link = link;
    this.watch = watch;
    this.inbox = inbox;
    this.#nextTry = new Wakeup(link.clock, true, () => this.tryAgain());
    this.#deadlines = new Wakeup(link.clock, true, () => this.#endOverdue());
    link.client.registry.add(link.key, this);
  }

  /** Undefined when it was refused, which is an answer to `tryAcquire`. */
  acquire(params: AcquireParams): Promise<Lease | undefined> {
    const request = this.newRequest(params);
    // A telemetry subscriber may have ended it.
    if (request.isPending) {
      this.#deadlines.wakeBy(request.deadline, request.started);
      request.ask();
    }
    return request.outcome;
  }

  /** A request that has not asked yet; see also `acquireTogether`. */
  newRequest(params: AcquireParams): Request {
    const { clock, client } = this.link;
    const request = new Request(
      this,
      client.newTicketId(params.permits),
      params,
      clock.monotonic(),
    );
    if (this.#count === 0) this.#interruptions = this.inbox.interruptions;
    this.#count += 1;
    this.link.permits.add(request);
    this.#publishCount();
    return request;
  }

  abandonAll(reason: () => Error): Promise<void> {
    return inSlices(this.#all(), (request) => request.abandon(reason()));
  }

  #all(): Request[] {
    const requests: Request[] = [];
    if (this.#count === 0) return requests;
    for (const permit of this.link.permits.all()) {
      if (permit instanceof Request && permit.isPending) requests.push(permit);
    }
    return requests;
  }

  find(id: string): Permit | undefined {
    return this.link.permits.find(id);
  }

  giveBack(id: string): void {
    this.watch.releases.giveBack(id);
  }

  get heldHere(): HeldHere | undefined {
    return this.watch.heldHere;
  }

  /** After the pause that follows a try which failed. */
  askSoon(): void {
    this.isFailing = true;
    this.schedule();
  }

  /** After a (re)subscription one try at once: a grant may have been pushed before it. */
  onHealth(isHealthy: boolean): void {
    this.#startPause(0);
    if (!isHealthy) return this.schedule();
    // A try that is under way may have run before the subscription: once more behind it.
    for (const request of this.#all()) request.repeatIfSent();
    this.tryAgain();
  }

  onReply(): void {
    this.outage.onReply();
    // Once after each interruption: the server may have been restarted with older data.
    if (this.#interruptions === this.inbox.interruptions) return;
    this.#interruptions = this.inbox.interruptions;
    this.link.client.registry.searchStrays(this.link.key, this.link.call.limit);
  }

  listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.inbox.add(this);
  }

  onGranted(): void {
    this.onEnded();
    this.#startPause(0);
  }

  onEnded(): void {
    this.#count -= 1;
    this.#publishCount();
    if (this.#count > 0) return;
    this.#nextTry.stop();
    this.#deadlines.stop();
    this.#startPause(0);
    this.link.askAgainAt = undefined;
    this.outage.onIdle();
    if (!this.#isListening) return;
    this.#isListening = false;
    this.inbox.remove(this);
  }

  tryAgain(): void {
    this.#nextTry.stop();
    this.#startPause(this.#pauses + 1);
    for (const request of this.#all()) if (request.stage === 'waiting') request.ask();
  }

  schedule(): void {
    if (this.#count === 0) return;
    const { clock, retry, askAgainAt } = this.link;
    const now = clock.monotonic();
    if (this.isFailing || !this.inbox.healthy) {
      return this.#nextTry.wakeAround(now + backoffDelay(retry, this.#pauses, this.#random), now);
    }
    this.#nextTry.wakeAround(now + SAFETY_PAUSE_MS, now);
    // A holder that died wakes no waiter, nor does a rate: they look again when the next ticket
    // expires, or the rate allows another permit.
    if (askAgainAt !== undefined) this.wakeAt(askAgainAt);
  }

  wakeAt(time: number): void {
    const { clock, serverClock } = this.link;
    const now = clock.monotonic();
    this.#nextTry.wakeBy(now + Math.max(1, serverClock.delayUntil(time)), now);
  }

  #startPause(number: number): void {
    if (number === 0 && this.#pauses === 0) return;
    this.#pauses = number;
    this.#random = randomBy(this.link.clock);
  }

  #endOverdue(): void {
    const now = this.link.clock.monotonic();
    let next = Infinity;
    let ended = 0;
    for (const request of this.#all()) {
      if (request.deadline <= now && ended < SLICE) {
        ended += 1;
        request.giveUp();
      } else next = Math.min(next, request.deadline);
    }
    this.#deadlines.wakeBy(next, now);
  }

  #publishCount(): void {
    if (!telemetry.queue.active) return;
    telemetry.queue.publish({ name: this.link.name, waiting: this.#count });
  }
}
