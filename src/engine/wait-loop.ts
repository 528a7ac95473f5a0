import type { AcquireReply, AcquireVerdict, PushedGrant } from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant, randomBy } from '../time/clock.js';
import { BackendError } from '../errors.js';
import { GroupCommit } from '../calling/lane.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import type { GrantInbox } from './grant-inbox.js';
import { IndexedList } from './indexed-list.js';
import type { Lease, LeaseTicket } from './lease.js';
import { tooManyPermits } from '../options.js';
import type { AcquireRequest, RequestOwner } from './acquire-request.js';
import type { ValidityWindow, ServerClock } from '../time/server-clock.js';
import { certaintyLeft } from '../time/server-clock.js';
import { telemetry } from '../telemetry.js';
import { callWithTimeout } from '../calling/call-timeout.js';
import { SharedTimer } from '../time/shared-timer.js';

/** Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter lease. */
const SAFETY_PAUSE = 1500;

export interface WaitLoopOptions {
  /** The semaphore's. */
  readonly name: string;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly retry: BackoffOptions;
  readonly ttl: number;
  /** How long one call may take, in milliseconds. */
  readonly limit: number;
  readonly inbox: GrantInbox;
  /** Whether a pushed grant is claimed by asking again, for what wrote it was another's call. */
  readonly claimByAsking: boolean;
  call(requests: readonly AcquireRequest[], notAfter: number | undefined): Promise<AcquireReply>;
  isRetryable(error: unknown): boolean;
  /** `claimed`: the ticket has its full ttl, not only its claim time. Undefined when no certainty is left. */
  makeLease(
    id: string,
    ticket: LeaseTicket,
    certainty: ValidityWindow,
    claimed: boolean,
  ): Lease | undefined;
  withdraw(id: string): void;
  /** The server may have come back with older data. */
  onRestored(): void;
}

/**
 * Everyone in this process who waits for one semaphore. A new request goes out at once; those that
 * were queued, or whose call failed, are asked for again together, after pauses that grow. A pushed grant cuts
 * the pause short. Tries are the truth and pushes are hints, so losing every push costs time, never a permit.
 */
export class WaitLoop {
  readonly #options: WaitLoopOptions;
  readonly #lane = new GroupCommit<AcquireRequest>((batch, done) => this.#send(batch, done));
  readonly #pending = new IndexedList<AcquireRequest>();
  readonly #nextTry: SharedTimer;
  readonly #deadlines: SharedTimer;
  #calls = 0;
  #pauses = 0;
  #failing = false;
  #onceMore = false;
  #nearestExpiry: number | undefined;

  constructor(options: WaitLoopOptions) {
    this.#options = options;
    this.#nextTry = new SharedTimer(options.clock, true, () => this.#tryAgain());
    this.#deadlines = new SharedTimer(options.clock, true, () => this.#endOverdue());
  }

  add(request: AcquireRequest): void {
    if (this.#pending.size === 0) this.#options.inbox.add(this);
    this.#pending.add(request);
    if (telemetry.queue.active) this.#publishQueue();
    // Who is told may end it.
    if (!request.pending) return;
    this.#deadlines.wakeBy(request.deadline, request.started);
    this.#lane.add(request);
  }

  /** Ends a request with `error`; what the backend holds for it, or will, is withdrawn. */
  abandon(request: AcquireRequest, error: unknown): void {
    if (!request.pending) return;
    request.abandon(error);
    this.#forget(request);
    if (request.attempts > 0) this.#options.withdraw(request.id);
  }

  /** Ends all requests of an owner. */
  abandonAll(owner: RequestOwner, reason: () => Error): Promise<void> {
    const own = this.#pending.toArray().filter((request) => request.owner === owner);
    return inSlices(own, (request) => {
      if (request.pending) this.abandon(request, reason());
    });
  }

  /** Whether somebody waits under this id. */
  has(id: string): boolean {
    return this.#pending.get(id) !== undefined;
  }

  /** A grant that was pushed, or that came with the reply to another call. False when nobody waits for it. */
  onGrant(grant: PushedGrant): boolean {
    const request = this.#pending.get(grant.id);
    if (request === undefined) return false;
    if (this.#options.claimByAsking) {
      // Behind its own call, if that is under way: its reply was made before the grant.
      this.#onceMore ||= request.state === 'sent';
      this.#tryAgain();
      return true;
    }
    // It was granted before now, so its claim time is over at most that much later, whatever the server's clock says.
    const life = Math.min(CLAIM_TIME_MS, this.#options.ttl);
    const certainty = this.#options.serverClock.certaintyUntil(grant.expiresAt, life);
    if (certainty === undefined) return true;
    const { since, span } = certainty;
    if (certaintyLeft(since, span, this.#options.clock) <= 0) this.#onLateGrant(request);
    else this.#claim(request, grant, certainty);
    return true;
  }

  /** After a (re)subscription one try at once: a grant may have been pushed before it. */
  onHealth(healthy: boolean): void {
    this.#pauses = 0;
    if (!healthy) return this.#schedule();
    // A try that is under way may have run before the subscription: once more behind it.
    this.#onceMore = this.#pending.find(({ state }) => state === 'sent') !== undefined;
    this.#tryAgain();
  }

  #endOverdue(): void {
    const now = this.#options.clock.monotonic();
    let next = Infinity;
    let ended = 0;
    for (const request of this.#pending.toArray()) {
      if (request.deadline <= now && ended < SLICE) {
        ended += 1;
        request.giveUp();
      } else next = Math.min(next, request.deadline);
    }
    if (this.#pending.size > 0) this.#deadlines.wakeBy(next, now);
  }

  #send(batch: AcquireRequest[], done: () => void): void {
    const { clock, limit } = this.#options;
    this.#calls += 1;
    const requests = wantedOnce(batch, this.#calls);
    if (requests.length === 0) return done();
    const sent = instant(clock);
    for (const request of requests) {
      request.attempts += 1;
      request.sentAt = sent.monotonic;
    }
    callWithTimeout(clock, limit, this.#options.call(requests, this.#notAfter(requests)), {
      onReply: (reply) => this.#onReply(requests, reply, sent),
      onError: (error) => this.#onError(requests, error),
      onEnd: done,
    });
  }

  /** A call that is delayed on its way must not act for requests that nobody wants any more. */
  #notAfter(requests: readonly AcquireRequest[]): number | undefined {
    const { clock, serverClock, limit } = this.#options;
    let last = 0;
    for (const { deadline } of requests) last = Math.max(last, deadline);
    return serverClock.latestIn(Math.min(Math.max(last - clock.monotonic(), 0), limit));
  }

  #onReply(requests: readonly AcquireRequest[], reply: AcquireReply, sent: Instant): void {
    this.#failing = false;
    this.#nearestExpiry = reply.nearestExpiry;
    const certainty = { since: sent, span: this.#options.ttl };
    reply.verdicts.forEach((verdict, i) => {
      const request = requests[i];
      if (request !== undefined) this.#apply(verdict, request, certainty);
    });
    if (!this.#onceMore) return this.#schedule();
    this.#onceMore = false;
    this.#tryAgain();
  }

  #apply(verdict: AcquireVerdict, request: AcquireRequest, certainty: ValidityWindow): void {
    if (!request.pending) {
      // A reply that was overtaken, by a push or by another reply. When the call itself ran late, or twice, it may have
      // left a ticket or a request that nobody wants; but never withdraw a ticket that is held.
      if (verdict.kind === 'granted') request.lease?.supersede(verdict.fencingToken);
      if (request.lease?.state.kind !== 'held') this.#options.withdraw(request.id);
    } else if (verdict.kind === 'granted') {
      this.#grant(request, verdict, certainty, true);
    } else if (verdict.kind === 'busy') {
      this.#forget(request);
      request.refuse();
    } else if (verdict.kind === 'over') {
      this.#reject(request, tooManyPermits(request.permits, verdict.limit));
    } else {
      if (verdict.kind === 'queued') {
        request.queued = true;
        request.arrival = verdict.arrival;
      } else {
        // The server's clock was stepped, or the call was delayed: soon again, now that the clock is known anew.
        this.#failing = true;
      }
      this.#park(request);
    }
  }

  /** An earlier call of the same request that was not answered may yet come to queue it. */
  #reject(request: AcquireRequest, error: RangeError): void {
    if (request.attempts > 1) return this.abandon(request, error);
    this.#forget(request);
    request.fail(error);
  }

  #onError(requests: readonly AcquireRequest[], error: unknown): void {
    const retryable = this.#options.isRetryable(error);
    this.#failing = true;
    for (const request of requests) {
      if (!request.pending) continue;
      request.lastError = error;
      if (retryable && request.wait) this.#park(request);
      else if (retryable) request.giveUp();
      else this.abandon(request, new BackendError('acquiring failed', error));
    }
    this.#schedule();
  }

  /** Anybody can send a grant: what it says is read once the request is known, and kept only if it fits. */
  #claim(
    request: AcquireRequest,
    { fencingToken, slots }: PushedGrant,
    certainty: ValidityWindow,
  ): void {
    if (slots.length !== request.permits) return;
    this.#grant(request, { fencingToken, slots }, certainty, false);
  }

  #onLateGrant(request: AcquireRequest): void {
    this.#onError([request], new Error('the grant came after its lease had run out'));
  }

  #grant(
    request: AcquireRequest,
    ticket: LeaseTicket,
    certainty: ValidityWindow,
    claimed: boolean,
  ): void {
    const lease = this.#options.makeLease(request.id, ticket, certainty, claimed);
    if (lease === undefined) return this.#onLateGrant(request);
    this.#forget(request);
    // Who was told of the queue has ended it, and withdrawn it.
    if (!request.pending) return void lease.endByRelease();
    this.#pauses = 0;
    request.grant(lease);
  }

  onRestored(): void {
    this.#options.onRestored();
  }

  #park(request: AcquireRequest): void {
    request.state = 'waiting';
    if (request.attempts === 1 && telemetry.wait.active) {
      const { id, permits } = request;
      telemetry.wait.publish({ name: this.#options.name, id, permits });
    }
    if (request.pending) this.#options.inbox.await(this);
  }

  #forget(request: AcquireRequest): void {
    this.#pending.remove(request);
    if (telemetry.queue.active) this.#publishQueue();
    if (this.#pending.size > 0) return;
    this.#nextTry.stop();
    this.#deadlines.stop();
    this.#pauses = 0;
    this.#nearestExpiry = undefined;
    this.#options.inbox.remove(this);
  }

  #publishQueue(): void {
    telemetry.queue.publish({ name: this.#options.name, waiting: this.#pending.size });
  }

  #tryAgain(): void {
    this.#nextTry.stop();
    this.#pauses += 1;
    for (const request of this.#pending.toArray()) {
      if (request.state !== 'waiting') continue;
      request.state = 'sent';
      this.#lane.add(request);
    }
  }

  /** Sets the next try for those who wait, unless an earlier one is set. */
  #schedule(): void {
    if (this.#pending.size === 0) return;
    const now = this.#options.clock.monotonic();
    this.#nextTry.wakeBy(now + this.#pause(), now);
  }

  #pause(): number {
    const { clock, inbox, retry, serverClock } = this.#options;
    if (this.#failing || !inbox.healthy) return backoffDelay(retry, this.#pauses, randomBy(clock));
    // A holder that died wakes nobody: look again when the next ticket expires.
    if (this.#nearestExpiry === undefined) return SAFETY_PAUSE;
    return Math.min(SAFETY_PAUSE, Math.max(1, serverClock.delayUntil(this.#nearestExpiry)));
  }
}

/** A request whose last call found no reply in time may have been added twice. `call`: the number of this one. */
function wantedOnce(batch: readonly AcquireRequest[], call: number): AcquireRequest[] {
  return batch.filter((request) => {
    if (!request.pending || request.call === call) return false;
    request.call = call;
    return true;
  });
}
