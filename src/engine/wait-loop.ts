import type {
  AcquireReply,
  AcquireVerdict,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import type { AcquireLane, AcquireSender } from '../calling/acquire-lane.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { CallTerms } from '../calling/call-terms.js';
import { callTimeout } from '../time/call-timeout.js';
import type { GrantInbox, InboxReader } from '../calling/grant-inbox.js';
import type { TicketCalls } from '../calling/ticket-calls.js';
import { telemetry } from '../telemetry.js';
import type { Clock, Instant } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import type { ValidityWindow } from '../time/server-clock.js';
import { validityLeft } from '../time/server-clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { AcquireParams } from './acquire-request.js';
import { acquiringFailed, AcquireRequest } from './acquire-request.js';
import { IndexedList } from './indexed-list.js';
import type { LeaseTerms, LeaseTicket } from './lease.js';
import { Lease } from './lease.js';
import { publishGrant } from './lease-telemetry.js';
import type { LeaseRenewer } from './lease-renewer.js';
import { OutageWatch } from './outage-watch.js';
import { refusal } from './refusal.js';
import type { Releaser } from './releaser.js';
import { publishQueue, publishWait } from './wait-telemetry.js';

/**
 * Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter
 * lease.
 */
const SAFETY_PAUSE_MS = 1500;

export interface WaitLoopParts {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  readonly calls: TicketCalls;
  readonly terms: CallTerms;
  readonly renewer: LeaseRenewer;
  readonly releaser: Releaser;
  /** Whether a pushed grant is claimed by asking again, since another's call wrote it. */
  readonly confirmsPushedGrants: boolean;
}

/**
 * All waiters of one semaphore object. A new request leaves at once; those that were queued, or
 * whose call failed, are asked for again together, after pauses that grow. A pushed grant cuts the
 * pause short. Tries are the truth and pushes are hints: losing every push costs time, never a
 * permit.
 */
export class WaitLoop implements InboxReader, AcquireSender {
  readonly terms: CallTerms;
  gathered: AcquireSender['gathered'] = undefined;
  readonly outage: OutageWatch = new OutageWatch();
  readonly #parts: WaitLoopParts;
  readonly #leaseTerms: LeaseTerms;
  readonly #lane: AcquireLane;
  readonly #inbox: GrantInbox;
  readonly #pending = new IndexedList<AcquireRequest>();
  readonly #nextTry: Wakeup;
  readonly #deadlines: Wakeup;
  #pauses = 0;
  /** Drawn once for each pause, however many replies ask for its length. */
  #random = 0;
  #failing = false;
  /** Whether its inbox knows that somebody waits. */
  #awaiting = false;
  /** Those of its subscription that it has seen, or in which nobody waited. */
  #interruptions = 0;
  #askAgainAt: number | undefined;

  constructor(parts: WaitLoopParts) {
    const { clock, calls, terms } = parts;
    this.#parts = parts;
    this.terms = terms;
    this.#leaseTerms = { name: terms.name, ttl: terms.ttl, clock };
    this.#lane = calls.acquireLane(terms);
    this.#inbox = calls.inbox(terms.key.prefix);
    this.#nextTry = new Wakeup(clock, true, () => this.#tryAgain());
    this.#deadlines = new Wakeup(clock, true, () => this.#endOverdue());
  }

  get key(): SemaphoreKey {
    return this.terms.key;
  }

  /** Undefined when it was refused, which is an answer to `tryAcquire`. */
  acquire(params: AcquireParams): Promise<Lease | undefined> {
    const request = this.newRequest(params);
    // A telemetry subscriber may have ended it.
    if (request.pending) {
      this.#deadlines.wakeBy(request.deadline, request.started);
      this.#send(request);
    }
    return request.outcome;
  }

  /** A request that is not sent yet; see also `acquireTogether`. */
  newRequest(params: AcquireParams): AcquireRequest {
    const { calls, clock, terms } = this.#parts;
    const id = calls.newTicketId(params.permits);
    const request = new AcquireRequest(id, params, clock.monotonic(), callTimeout(terms.ttl));
    if (this.#pending.size === 0) this.#interruptions = this.#inbox.interruptions;
    this.#pending.add(request);
    request.onAbort((reason) => this.abandon(request, reason));
    if (telemetry.queue.active) publishQueue(this.key, this.#pending.size);
    return request;
  }

  /** Ends a request with `error`; what the backend holds for it, or will, is withdrawn. */
  abandon(request: AcquireRequest, error: unknown): void {
    if (!request.pending) return;
    request.abandon(error);
    this.#forget(request);
    if (request.wasSent) this.#parts.releaser.withdraw(request.id);
  }

  abandonAll(reason: () => Error): Promise<void> {
    return inSlices(this.#pending.toArray(), (request) => this.abandon(request, reason()));
  }

  /** Whether somebody waits under this id. */
  has(id: string): boolean {
    return this.#pending.get(id) !== undefined;
  }

  /**
   * A grant that was pushed, or that came with the reply to another call. False when nobody waits
   * for it.
   */
  onGrant(grant: PushedGrant): boolean {
    const request = this.#pending.get(grant.id);
    if (request === undefined) return false;
    if (this.#parts.confirmsPushedGrants) {
      // Behind its own call, if that is under way: its reply was made before the grant.
      request.resend ||= request.state === 'sent';
      this.#tryAgain();
      return true;
    }
    const { clock, terms } = this.#parts;
    // It was granted before now, so its claim time is over at most that much later, whatever the
    // server's clock says.
    const life = Math.min(CLAIM_TIME_MS, terms.ttl);
    const window = terms.serverClock.validityUntil(grant.expiresAt, life);
    if (window === undefined) return true;
    if (validityLeft(window.from, window.duration, clock) <= 0) this.#onLateGrant(request);
    // Anybody can send a grant: what it says is read once the request is known, and kept only if it
    // fits.
    else if (grant.slots.length === request.permits) this.#grant(request, grant, window, false);
    return true;
  }

  /** A request is the next, and the rate allows it from then on. */
  onTurn({ id, at }: PushedTurn): void {
    if (this.#pending.get(id) !== undefined) this.#wakeAt(at);
  }

  /** After the pause that follows a try which failed. */
  askSoon(): void {
    this.#failing = true;
    this.#schedule();
  }

  /** After a (re)subscription one try at once: a grant may have been pushed before it. */
  onHealth(healthy: boolean): void {
    this.#startPause(0);
    if (!healthy) return this.#schedule();
    // A try that is under way may have run before the subscription: once more behind it.
    for (const request of this.#pending.toArray()) request.resend ||= request.state === 'sent';
    this.#tryAgain();
  }

  onReply(
    requests: readonly AcquireRequest[],
    reply: AcquireReply,
    sent: Instant,
    late: boolean,
  ): void {
    if (!late) this.outage.onReply();
    this.#askAgainAt = reply.askAgainAt;
    this.#searchOrphans();
    for (const [i, request] of requests.entries()) {
      const verdict = reply.verdicts[i];
      if (!late) request.onReply();
      if (verdict === undefined) this.#onError(request, new Error('the backend gave no verdict'));
      else this.#onVerdict(request, verdict, sent);
    }
    this.#schedule();
  }

  /** Once after each interruption: the server may have been restarted with older data. */
  #searchOrphans(): void {
    if (this.#interruptions === this.#inbox.interruptions) return;
    this.#interruptions = this.#inbox.interruptions;
    this.#parts.calls.dispatch.searchOrphans(this.key, this.terms.call.limit);
  }

  onFailure(requests: readonly AcquireRequest[], error: unknown): void {
    const now = this.#parts.clock.monotonic();
    for (const request of requests) {
      const { sentAt } = request;
      request.onReply();
      this.#onError(request, error);
      if (request.pending) this.outage.onFailure(sentAt, now, error);
    }
    this.#schedule();
  }

  /** What became of a request by its call. */
  #onVerdict(request: AcquireRequest, verdict: AcquireVerdict, sent: Instant): void {
    this.#failing = false;
    if (!request.pending) return this.#onLateVerdict(request, verdict);
    if (verdict.kind === 'granted') {
      this.#grant(request, verdict, { from: sent, duration: this.terms.ttl }, true);
    } else if (verdict.kind === 'busy') {
      this.onRefused(request);
    } else if (verdict.kind === 'over' || verdict.kind === 'full') {
      this.#reject(request, refusal(verdict, request.permits, this.terms));
    } else {
      // The server's clock was stepped, or the call was delayed: soon again, now that its time is
      // known better.
      if (verdict.kind === 'late') this.#failing = true;
      else request.queue(verdict, this.#parts.clock.monotonic());
      if (request.listenerError === undefined) this.#park(request);
      else this.abandon(request, request.listenerError);
    }
  }

  onRefused(request: AcquireRequest): void {
    if (!request.pending) return;
    this.#forget(request);
    request.refuse(this.terms, this.#parts.clock.monotonic());
  }

  #onError(request: AcquireRequest, error: unknown): void {
    // Its call may have run behind its withdrawal, and nobody hears of it.
    if (!request.pending) return this.#withdrawUnheld(request);
    const retryable = this.#parts.calls.isRetryable(error);
    this.#failing = true;
    request.lastError = error;
    if (!retryable) this.abandon(request, acquiringFailed(this.key, error));
    else if (request.wait) this.#park(request);
    else this.#giveUp(request);
  }

  #send(request: AcquireRequest): void {
    request.onSend(this.#parts.clock.monotonic());
    request.healthSeen = this.#inbox.healthChanges;
    this.#lane.add(this, request);
  }

  /**
   * A reply that was overtaken, by a push or by another reply. When the call itself ran late, or
   * twice, it may have left a ticket or a request that nobody wants; but never withdraw a ticket
   * that is held.
   */
  #onLateVerdict(request: AcquireRequest, verdict: AcquireVerdict): void {
    if (verdict.kind === 'granted' && request.lease !== undefined)
      this.#parts.renewer.supersede(request.lease, verdict.fencingToken);
    this.#withdrawUnheld(request);
  }

  #withdrawUnheld({ id, lease }: AcquireRequest): void {
    if (lease?.state.kind !== 'held') this.#parts.releaser.withdraw(id);
  }

  /** An earlier call of the same request that was not answered may yet come to queue it. */
  #reject(request: AcquireRequest, error: Error): void {
    if (request.attempts > 1) return this.abandon(request, error);
    this.#forget(request);
    request.fail(error);
  }

  #onLateGrant(request: AcquireRequest): void {
    this.#onError(request, new Error('the grant arrived after its lease had expired'));
    this.#schedule();
  }

  #grant(
    request: AcquireRequest,
    ticket: LeaseTicket,
    window: ValidityWindow,
    claimed: boolean,
  ): void {
    const { clock, renewer } = this.#parts;
    const lease = new Lease(this.#leaseTerms, request.id, ticket, window);
    lease.claimed = claimed;
    if (!renewer.keep(lease)) return this.#onLateGrant(request);
    this.#forget(request);
    const { started, attempts } = request;
    if (telemetry.grant.active) publishGrant(lease, clock.monotonic() - started, attempts);
    // A telemetry subscriber may have ended it, and then it is withdrawn.
    if (!request.pending) return renewer.end(lease);
    this.#startPause(0);
    request.grant(lease);
  }

  #park(request: AcquireRequest): void {
    // What came late, of an earlier call or by a push, changes nothing for the call that is under
    // way; and its `onWaiting` may have ended it.
    if (request.state !== 'waiting') return;
    // Behind a change of the subscription, too: a grant may have been pushed while nobody listened.
    if (request.resend || request.healthSeen !== this.#inbox.healthChanges) {
      request.resend = false;
      return this.#send(request);
    }
    if (request.attempts === 1 && telemetry.wait.active) publishWait(this.key, request);
    if (!request.pending || this.#awaiting) return;
    this.#awaiting = true;
    this.#inbox.await(this);
  }

  #giveUp(request: AcquireRequest): void {
    this.abandon(request, request.timeoutError(this.terms, this.#parts.clock.monotonic()));
  }

  #endOverdue(): void {
    const now = this.#parts.clock.monotonic();
    let next = Infinity;
    let ended = 0;
    for (const request of this.#pending.toArray()) {
      if (request.deadline <= now && ended < SLICE) {
        ended += 1;
        this.#giveUp(request);
      } else next = Math.min(next, request.deadline);
    }
    this.#deadlines.wakeBy(next, now);
  }

  #forget(request: AcquireRequest): void {
    this.#pending.remove(request);
    if (telemetry.queue.active) publishQueue(this.key, this.#pending.size);
    if (this.#pending.size > 0) return;
    this.#nextTry.stop();
    this.#deadlines.stop();
    this.#startPause(0);
    this.#askAgainAt = undefined;
    this.outage.onIdle();
    if (!this.#awaiting) return;
    this.#awaiting = false;
    this.#inbox.remove(this);
  }

  #tryAgain(): void {
    this.#nextTry.stop();
    this.#startPause(this.#pauses + 1);
    for (const request of this.#pending.toArray()) {
      if (request.state === 'waiting') this.#send(request);
    }
  }

  #startPause(number: number): void {
    if (number === 0 && this.#pauses === 0) return;
    this.#pauses = number;
    this.#random = randomBy(this.#parts.clock);
  }

  /** Sets the next try for the waiters, unless an earlier one is set. */
  #schedule(): void {
    if (this.#pending.size === 0) return;
    const { clock, retry } = this.#parts;
    const now = clock.monotonic();
    if (this.#failing || !this.#inbox.healthy) {
      return this.#nextTry.wakeAround(now + backoffDelay(retry, this.#pauses, this.#random), now);
    }
    this.#nextTry.wakeAround(now + SAFETY_PAUSE_MS, now);
    // A holder that died wakes nobody, nor does a rate: look again when the next ticket expires, or
    // the rate allows another permit.
    if (this.#askAgainAt !== undefined) this.#wakeAt(this.#askAgainAt);
  }

  /** `time`: of the server. */
  #wakeAt(time: number): void {
    const { clock, terms } = this.#parts;
    const now = clock.monotonic();
    this.#nextTry.wakeBy(now + Math.max(1, terms.serverClock.delayUntil(time)), now);
  }
}
