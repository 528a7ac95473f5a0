import type {
  AcquireVerdict,
  PushedGrant,
  PushedTurn,
  QueuedVerdict,
  QueueProgress,
  RequestOrder,
  SemaphoreKey,
} from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import { AcquireTimeoutError, BackendError, QueueFullError } from '../errors.js';
import { tooManyPermits } from '../options.js';
import { telemetry } from '../telemetry.js';
import { CallTimeoutError } from '../time/call-timeout.js';
import { randomBy } from '../time/clock.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import type { ValidityWindow } from '../time/server-clock.js';
import { validityLeft } from '../time/server-clock.js';
import { Wakeup } from '../time/shared-timer.js';
import { forgetAbort, onceAborted } from './abort-fanout.js';
import { backoffDelay } from '../time/backoff.js';
import type { Call } from './batcher.js';
import type { Inbox, InboxReader } from './inbox.js';
import type { Leases, LeaseTicket } from './lease.js';
import { Lease, publishGrant } from './lease.js';
import type { AcquireItem } from './operations.js';
import { OutageWatch } from './outage-watch.js';
import type { LocalSemaphore, Permit } from './registry.js';
import type { SemaphoreLink } from './semaphore-link.js';

/**
 * Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter
 * lease.
 */
const SAFETY_PAUSE_MS = 1500;

/** After how long a call without a reply counts as a sign of trouble, in milliseconds. */
const SLOW_CALL_MS = 50;

/** `onWaiting` is called at most that often, in milliseconds. */
const REPORT_EVERY_MS = 1000;

export interface AcquireParams {
  readonly permits: number;
  /**
   * What the caller allowed, in milliseconds; Infinity: no limit; 0: one try. Undefined: one try
   * whose refusal is no error.
   */
  readonly timeout: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Left out: priority 0, no group. */
  readonly order?: RequestOrder | undefined;
  /** Hears how long it may have to wait. */
  readonly onWaiting?: ((progress: QueueProgress) => void) | undefined;
}

/**
 * All waiters of one semaphore object. A new request leaves at once; requests that were queued, or
 * whose call failed, ask again together, after pauses that grow. A pushed grant cuts the pause
 * short. Polling is authoritative, pushes only save time: losing every push costs time, never a
 * permit.
 */
export class Waiters implements InboxReader, LocalSemaphore {
  readonly link: SemaphoreLink;
  readonly leases: Leases;
  readonly inbox: Inbox;
  readonly outage: OutageWatch = new OutageWatch();
  /** The last call failed: pushes are not relied on until one succeeds. */
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

  constructor(link: SemaphoreLink, leases: Leases, inbox: Inbox) {
    this.link = link;
    this.leases = leases;
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
    this.leases.releases.permits.set(request.id, request);
    this.#publishCount();
    return request;
  }

  abandonAll(reason: () => Error): Promise<void> {
    return inSlices(this.#all(), (request) => request.abandon(reason()));
  }

  #all(): Request[] {
    const requests: Request[] = [];
    if (this.#count === 0) return requests;
    for (const permit of this.leases.releases.permits.values()) {
      if (permit instanceof Request && permit.isPending) requests.push(permit);
    }
    return requests;
  }

  find(id: string): Permit | undefined {
    return this.leases.releases.permits.get(id);
  }

  giveBack(id: string): void {
    this.leases.releases.giveBack(id);
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

  /** @internal A call was answered in time. */
  onReply(): void {
    this.outage.onReply();
    // Once after each interruption: the server may have been restarted with older data.
    if (this.#interruptions === this.inbox.interruptions) return;
    this.#interruptions = this.inbox.interruptions;
    this.link.client.registry.searchStrays(this.link.key, this.link.call.limit);
  }

  /** @internal It waits for a grant from now on. */
  listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.inbox.add(this);
  }

  /** @internal It became a lease: those behind it may be next. */
  onGranted(): void {
    this.forget();
    this.#startPause(0);
  }

  /** @internal A request has ended. */
  forget(): void {
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

  /** Sets the next try for the waiters, unless an earlier one is set. */
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

  /** `time`: of the server. */
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

/**
 * One call of `acquire` or `tryAcquire`: it asks until it is granted, refused, timed out or
 * aborted. Once granted it is the lease.
 */
export class Request extends Lease implements AcquireItem {
  /** Undefined: refused, which is an answer to `tryAcquire`. */
  readonly outcome: Promise<Lease | undefined>;
  /** Monotonic times at which it was made, and after which its caller does not want it. */
  readonly started: number;
  readonly deadline: number;
  arrival: number | undefined = undefined;
  readonly #waiters: Waiters;
  readonly #params: AcquireParams;
  /** How many calls it has left in. */
  #attempts = 0;
  /** Asks again as soon as its call is answered: the answer may be older than a grant. */
  #repeats = false;
  /** It is in a call that was not answered yet. */
  #isUnanswered = false;
  /** What its inbox had seen when it asked last, and the monotonic time of that. */
  #healthSeen = 0;
  #askedAt = 0;
  /** What its `onWaiting` heard last, and when. */
  #progress: QueueProgress | undefined;
  #reportedAt = -Infinity;
  #wasQueued = false;
  #onAbort: (() => void) | undefined;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;

  constructor(waiters: Waiters, id: string, params: AcquireParams, now: number) {
    super(waiters.leases, id);
    this.stage = 'sent';
    this.#waiters = waiters;
    this.#params = params;
    this.started = now;
    // A single try may take as long as one call.
    this.deadline = now + (this.wait ? (params.timeout ?? 0) : waiters.link.callTimeoutMs);
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { signal } = params;
    if (signal === undefined) return;
    this.#onAbort = () => this.abandon(signal.reason);
    onceAborted(signal, this.#onAbort);
  }

  get permits(): number {
    return this.#params.permits;
  }

  get order(): RequestOrder | undefined {
    return this.#params.order;
  }

  get asksProgress(): boolean {
    return this.#params.onWaiting !== undefined;
  }

  get wait(): boolean {
    const { timeout } = this.#params;
    return timeout !== undefined && timeout > 0;
  }

  get isPending(): boolean {
    return this.stage === 'sent' || this.stage === 'waiting';
  }

  ask(): void {
    this.stage = 'sent';
    this.#askedAt = this.link.clock.monotonic();
    this.#isUnanswered = false;
    this.#repeats = false;
    this.#healthSeen = this.#waiters.inbox.healthChanges;
    this.link.acquires.add(this);
  }

  repeatIfSent(): void {
    if (this.stage === 'sent') this.#repeats = true;
  }

  override leave(call: Call): boolean {
    if (call.operation !== 'acquire') return super.leave(call);
    if (!this.isPending) return false;
    this.#isUnanswered = true;
    this.#attempts += 1;
    return true;
  }

  override answer(verdict: unknown, call: Call): void {
    if (call.operation !== 'acquire') return super.answer(verdict, call);
    if (!call.late) this.#waiters.onReply();
    this.#onReply(call);
    this.#onVerdict(verdict as AcquireVerdict, call);
    this.#waiters.schedule();
  }

  #onReply(call: Call): void {
    if (call.late || this.stage !== 'sent') return;
    this.stage = 'waiting';
    this.#isUnanswered = false;
  }

  #onVerdict(verdict: AcquireVerdict, call: Call): void {
    this.#waiters.isFailing = false;
    if (!this.isPending) return this.#onLateVerdict(verdict);
    const { kind } = verdict;
    if (kind === 'granted') {
      this.#grant(verdict, { from: call.sent, duration: this.ttl }, true);
    } else if (kind === 'busy') {
      this.refuse();
    } else if (kind === 'over' || kind === 'full') {
      this.#fail(this.#refusal(verdict));
    } else if (kind === 'queued') {
      this.#queue(verdict);
    } else {
      // The server's clock was stepped, or the call was delayed: soon again, now that its time is
      // known better.
      this.#waiters.isFailing = true;
      this.#park();
    }
  }

  /**
   * A reply that was overtaken, by a push or by another reply. When the call itself ran late, or
   * twice, it may have left a ticket or a request; but a ticket that is held is never withdrawn.
   */
  #onLateVerdict(verdict: AcquireVerdict): void {
    // A later token: the ticket that is held was lost with the server's data.
    if (verdict.kind === 'granted' && verdict.fencingToken > this.fencingToken)
      this.lose('missing');
    this.#withdrawUnheld();
  }

  #withdrawUnheld(): void {
    if (this.stage !== 'held') this.withdraw();
  }

  override fail(error: unknown, call: Call): void {
    if (call.operation !== 'acquire') return super.fail(error, call);
    const askedAt = this.#askedAt;
    this.#onReply(call);
    this.#onError(error);
    if (this.isPending) this.#waiters.outage.onFailure(askedAt, this.link.clock.monotonic(), error);
    this.#waiters.schedule();
  }

  #onError(error: unknown): void {
    // Its call may have run behind its withdrawal, and its reply is lost.
    if (!this.isPending) return this.#withdrawUnheld();
    this.#waiters.isFailing = true;
    this.lastError = error;
    const { client, key } = this.link;
    if (!client.isRetryable(error)) this.abandon(acquiringFailed(key, error));
    else if (this.wait) this.#park();
    else this.giveUp();
  }

  #queue({ arrival, progress }: QueuedVerdict): void {
    this.#wasQueued = true;
    this.arrival = arrival;
    if (progress !== undefined) this.#report(progress);
    this.#park();
  }

  #report(progress: QueueProgress): void {
    const { onWaiting } = this.#params;
    const now = this.link.clock.monotonic();
    const { position, waiting } = progress;
    const isNews = this.#progress?.position !== position || this.#progress.waiting !== waiting;
    if (onWaiting === undefined || !isNews || now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#progress = progress;
    this.#reportedAt = now;
    try {
      onWaiting(progress);
    } catch (error) {
      this.abandon(error ?? new Error('onWaiting threw nothing'));
    }
  }

  #park(): void {
    // What came late, of an earlier call or by a push, changes nothing for the call that is under
    // way; and its `onWaiting` may have ended it.
    if (this.stage !== 'waiting') return;
    const { inbox } = this.#waiters;
    // Behind a change of the subscription, too: a grant may have been pushed while nothing
    // listened.
    if (this.#repeats || this.#healthSeen !== inbox.healthChanges) return this.ask();
    if (this.#attempts === 1 && telemetry.wait.active) {
      telemetry.wait.publish({ name: this.name, id: this.id, permits: this.permits });
    }
    if (this.isPending) this.#waiters.listen();
  }

  /** A grant that was pushed, or that came with the reply to another call. */
  override onGrant(grant: PushedGrant): void {
    if (!this.isPending) return super.onGrant(grant);
    const { client, serverClock, ttl, clock } = this.link;
    if (client.backend.confirmsPushedGrants === true) {
      // Behind its own call, if that is under way: its reply was made before the grant.
      this.repeatIfSent();
      return this.#waiters.tryAgain();
    }
    // It was granted before now, so its claim time is over at most that much later, whatever the
    // server's clock says.
    const window = serverClock.validityUntil(grant.expiresAt, Math.min(CLAIM_TIME_MS, ttl));
    if (window === undefined) return;
    if (validityLeft(window.from, window.duration, clock) <= 0) this.#onLateGrant();
    // Any program can send a grant: what it says is read once the request is known, and kept only
    // if it fits.
    else if (grant.slots.length === this.permits) this.#grant(grant, window, false);
  }

  override onTurn({ at }: PushedTurn): void {
    if (this.isPending) this.#waiters.wakeAt(at);
  }

  #grant(ticket: LeaseTicket, window: ValidityWindow, isClaimed: boolean): void {
    if (!this.hold(ticket, window, isClaimed)) return this.#onLateGrant();
    this.#settle();
    this.#waiters.onGranted();
    if (telemetry.grant.active) {
      publishGrant(this, this.link.clock.monotonic() - this.started, this.#attempts);
    }
    this.#resolve(this);
  }

  #onLateGrant(): void {
    this.#onError(new Error('the grant arrived after its lease had expired'));
    this.#waiters.schedule();
  }

  /** No permit is free. */
  refuse(): void {
    if (!this.isPending) return;
    const isTry = this.#params.timeout === undefined;
    const error = isTry ? undefined : this.#timeoutError();
    this.#end();
    if (isTry) this.#resolve(undefined);
    else this.#reject(error);
  }

  /** An earlier call of it that was not answered may yet come to queue it. */
  #fail(error: Error): void {
    if (this.#attempts > 1) return this.abandon(error);
    this.#end();
    this.#reject(error);
  }

  giveUp(): void {
    this.abandon(this.#timeoutError());
  }

  /** Ends it with `error`; what the backend holds for it, or will, is withdrawn. */
  abandon(error: unknown): void {
    if (!this.isPending) return;
    this.#end();
    this.#reject(error);
    if (this.#attempts > 0) this.withdraw();
  }

  #end(): void {
    this.stage = 'over';
    this.#settle();
    this.#waiters.leases.releases.forget(this);
    this.#waiters.forget();
  }

  #settle(): void {
    const { signal } = this.#params;
    if (signal !== undefined && this.#onAbort !== undefined) forgetAbort(signal, this.#onAbort);
  }

  /** Why a request may not even wait. */
  #refusal(verdict: Extract<AcquireVerdict, { kind: 'over' | 'full' }>): Error {
    const { name, maxWaiting = 0 } = this.link;
    if (verdict.kind === 'over') return tooManyPermits(name, this.permits, verdict.limit);
    return new QueueFullError({ name, position: verdict.waiting, limit: maxWaiting });
  }

  #timeoutError(): Error {
    const { key, limit, clock } = this.link;
    const now = clock.monotonic();
    const { timeout } = this.#params;
    const trouble = this.#trouble(now);
    if (timeout === undefined) return acquiringFailed(key, trouble);
    const [waited, attempts] = [now - this.started, this.#attempts];
    return new AcquireTimeoutError({ name: key.name, timeout, waited, attempts, limit }, trouble);
  }

  /** Why it did not succeed so far, if not for lack of permits. */
  #trouble(now: number): unknown {
    if (this.lastError !== undefined) return this.lastError;
    const waited = now - this.#askedAt;
    const isSilent = this.#isUnanswered && (!this.#wasQueued || waited >= SLOW_CALL_MS);
    return isSilent ? new CallTimeoutError(waited) : undefined;
  }
}

export function acquiringFailed(key: SemaphoreKey, cause: unknown): BackendError {
  const what = `acquiring a permit of ${JSON.stringify(key.name)} failed`;
  return new BackendError(what, cause, key);
}
