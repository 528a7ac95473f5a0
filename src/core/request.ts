import type * as port from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import { AcquireTimeoutError, QueueFullError } from '../errors.js';
import { type ResolvedRequest, tooManyPermits } from '../arguments/resolve.js';
import { telemetry } from '../telemetry.js';
import { CallTimeoutError } from '../time/call-timeout.js';
import { instant } from '../time/clock.js';
import type { ValidityWindow } from '../time/validity.js';
import { onceAborted } from './abort-fanout.js';
import type { Call } from './batcher.js';
import { Lease } from './lease.js';
import type { Verdict } from './operations.js';
import type { SemaphoreLink } from './semaphore-link.js';

/** After how long a call without a reply counts as a sign of trouble, in milliseconds. */
const SLOW_CALL_MS = 50;

/** `onWaiting` is called at most that often, in milliseconds. */
const REPORT_EVERY_MS = 1000;

/** A place in the queue, and the monotonic time at which the request was there. */
interface Progress extends port.QueueProgress {
  readonly at: number;
}

/**
 * The wait that is left, at the mean speed since `first`; undefined unless the request has come
 * nearer. The next move has begun already, so it counts.
 */
function waitLeft({ position, at }: Progress, first: Progress): number | undefined {
  const moved = first.position - position;
  return moved > 0 ? ((position + 1) * (at - first.at)) / (moved + 1) : undefined;
}

/**
 * One call of `acquire` or `tryAcquire`: it asks until it is granted, refused, timed out or
 * aborted. Once granted it is the lease.
 */
export class Request extends Lease implements port.TicketRequest {
  /** Undefined: refused, which is an answer to `tryAcquire`. */
  readonly outcome: Promise<Lease | undefined>;
  arrival: number | undefined = undefined;
  readonly permits: number;
  readonly order: port.TicketRequest['order'];
  readonly cost: port.TicketRequest['cost'];
  readonly #timeout: number | undefined;
  /** A reply said that no permit was free. */
  #foundNone = false;
  // The caller's own objects: a lease that kept them could keep its own handle in memory.
  #forgetSignal: (() => void) | undefined;
  #onWaiting: ResolvedRequest['onWaiting'];
  /** Monotonic time at which it was made. */
  readonly started: number;
  /** Monotonic time at which it was made, or asked last. */
  #askedAt: number;
  /** The first progress that its `onWaiting` heard, and the last. */
  #reports: { readonly first: Progress; readonly last: Progress } | undefined;
  #settleOutcome!: (outcome: Lease | undefined | Promise<never>) => void;

  constructor(link: SemaphoreLink, params: ResolvedRequest) {
    super(link, link.client.newId(params.permits));
    const { permits, order, cost, timeout, signal, onWaiting } = params;
    this.stage = 'sent';
    this.permits = permits;
    this.order = order;
    this.cost = cost;
    this.#timeout = timeout;
    this.#onWaiting = onWaiting;
    this.started = link.clock.monotonic();
    this.#askedAt = this.started;
    // A single try may take as long as one call.
    this.deadline = this.started + (this.wait ? (timeout ?? 0) : link.callTimeoutMs);
    this.outcome = new Promise((resolve) => (this.#settleOutcome = resolve));
    link.permits.set(this.id, this);
    link.onAsked(this.deadline, this.started);
    this.#forgetSignal = signal && onceAborted(signal, () => this.abandon(signal.reason));
    link.countRequest(1);
  }

  get asksProgress(): boolean {
    return this.#onWaiting !== undefined;
  }

  get wait(): boolean {
    return this.#timeout !== undefined && this.#timeout > 0;
  }

  get isPending(): boolean {
    return this.stage === 'sent' || this.stage === 'waiting';
  }

  ask(now: number = this.link.clock.monotonic()): void {
    // First: a clock of the user's own may throw.
    this.link.batchers.acquires.add(this.link.toAcquire, this);
    this.stage = 'sent';
    this.#askedAt = now;
  }

  askAgain(): void {
    if (this.stage === 'waiting') this.ask();
  }

  override joinCall(call: Call): boolean {
    if (call.operation !== 'acquire' || this.isPending) return super.joinCall(call);
    // Its last call has failed, and may have run behind its withdrawal.
    if (this.stage === 'leaving') this.withdraw();
    return false;
  }

  override answer(verdict: Verdict, call: Call): void {
    if (typeof verdict !== 'object') return super.answer(verdict, call);
    if (!call.late && this.stage === 'sent') this.stage = 'waiting';
    this.#onVerdict(verdict, call);
  }

  #onVerdict(verdict: port.AcquireVerdict, call: Call): void {
    if (!this.isPending) {
      // A later token: the ticket that is held was lost with the server's data.
      if (verdict.kind === 'granted' && verdict.fencingToken > this.fencingToken)
        this.lose('missing');
      // Granted, timed out or aborted: the backend may still hold a ticket or request under its id.
      if (this.stage !== 'held') this.withdraw();
    } else if (verdict.kind === 'granted') {
      this.#grant(verdict, { from: call.sent, duration: this.ttl }, true);
    } else if (verdict.kind === 'busy') {
      this.refuse();
    } else if (verdict.kind === 'over') {
      // An earlier call of it that was not answered may yet come to queue it.
      this.abandon(tooManyPermits(this.name, this.permits, verdict.limit), 1);
    } else if (verdict.kind === 'full') {
      const { maxWaiting: limit = 0 } = this.link.options;
      this.abandon(new QueueFullError({ name: this.name, position: verdict.waiting, limit }), 1);
    } else if (verdict.kind === 'queued') {
      this.arrival = verdict.arrival;
      // Calls that failed before do not count: a permit may have been free.
      if (!this.#foundNone && telemetry.wait.hasSubscribers)
        telemetry.wait.publish({ name: this.name, id: this.id, permits: this.permits });
      this.#foundNone = true;
      if (verdict.progress !== undefined) this.#report(verdict.progress);
      this.#park();
    } else {
      // The server's clock was stepped, or the call was delayed: soon again, now that its time is
      // known better.
      this.#park();
      this.link.onReplyLost(new Error('the call came late'), call.sent);
    }
  }

  override fail(error: unknown, call: Call): void {
    if (call.operation !== 'acquire') return super.fail(error, call);
    if (!call.late && this.stage === 'sent') this.stage = 'waiting';
    this.#onError(error);
  }

  #onError(error: unknown): void {
    if (this.stage === 'held') return;
    // Its call may have run behind its withdrawal, and its reply is lost.
    if (!this.isPending) return this.withdraw();
    this.lastError = error;
    if (!this.link.client.isRetryable(error)) this.abandon(this.link.failure('acquiring', error));
    else if (this.wait) this.#park();
    else this.abandon(this.#timeoutError());
  }

  #report(progress: port.QueueProgress): void {
    const onWaiting = this.#onWaiting;
    const now = { ...progress, at: this.link.clock.monotonic() };
    const { first = now, last } = this.#reports ?? {};
    const isNews = last?.position !== now.position || last.waiting !== now.waiting;
    const isSoon = last !== undefined && now.at - last.at < REPORT_EVERY_MS;
    if (onWaiting === undefined || !isNews || isSoon) return;
    this.#reports = { first, last: now };
    const estimate = waitLeft(now, first);
    const heldHere = this.link.heldHere?.permits ?? 0;
    const reported = async (): Promise<void> => onWaiting({ ...progress, estimate, heldHere });
    reported().catch((e: unknown) => this.abandon(e ?? new Error('onWaiting threw nothing')));
  }

  #park(): void {
    // A late reply, or a push, changes nothing for the call that is under way; and its `onWaiting`
    // may have ended it.
    if (this.stage === 'waiting') this.link.client.add(this.link);
  }

  /** A grant that was pushed, or that came with the reply to another call. */
  override takeGrant(grant: port.PushedGrant): void {
    if (!this.isPending) return super.takeGrant(grant);
    const { client, batchers } = this.link;
    // It was granted before now, so its claim time is over at most that much later, whatever the
    // server's clock says.
    const most = Math.min(CLAIM_TIME_MS, this.ttl);
    const window = batchers.serverClock.validityUntil(grant.expiresAt, most);
    if (window === undefined || client.backend.confirmsPushedGrants === true) {
      return this.link.onGrantMissed();
    }
    // Any program can send a grant: a request takes it only if it fits.
    if (grant.slots.length === this.permits) this.#grant(grant, window, false);
  }

  #grant(ticket: port.Ticket, window: ValidityWindow, isClaimed: boolean): void {
    if (!this.hold(ticket, window, isClaimed)) {
      const error = new Error('the grant arrived after its lease had expired');
      this.#onError(error);
      return this.link.onReplyLost(error, instant(this.link.clock));
    }
    this.#end(this);
    if (telemetry.grant.hasSubscribers)
      this.publishGrant(this.link.clock.monotonic() - this.started);
  }

  /** No permit is free. */
  refuse(): void {
    if (!this.isPending) return;
    if (this.#timeout !== undefined) return this.abandon(this.#timeoutError(), this.attempts);
    this.#end(undefined);
  }

  override giveUp(now: number): void {
    if (this.isPending) this.abandon(this.#timeoutError());
    else super.giveUp(now);
  }

  /**
   * Ends it with `reason`, and withdraws its ticket or request from the backend. `refused`: how
   * many of its calls certainly made neither; if all of them, nothing is withdrawn.
   */
  abandon(reason: unknown, refused = 0): void {
    if (!this.isPending) return;
    this.#end(Promise.reject(reason));
    if (this.attempts > refused) this.withdraw();
  }

  /** It is granted, or over. */
  #end(outcome: Lease | undefined | Promise<never>): void {
    if (outcome !== this) {
      this.stage = 'over';
      this.link.forget(this);
    }
    this.#settleOutcome(outcome);
    this.#forgetSignal?.();
    this.#forgetSignal = undefined;
    this.#onWaiting = undefined;
    this.deadline = Infinity;
    this.link.onAnswered();
    this.link.onRequestEnded(outcome === this);
  }

  #timeoutError(): Error {
    const { name, limit, clock, heldHere } = this.link;
    const now = clock.monotonic();
    const timeout = this.#timeout;
    const trouble = this.#trouble(now);
    if (timeout === undefined) return this.link.failure('acquiring', trouble);
    const tried = { timeout, waited: now - this.started, attempts: this.attempts };
    return new AcquireTimeoutError({ name, ...tried, limit, heldHere }, trouble);
  }

  /** Why it did not succeed so far, if not for lack of permits. */
  #trouble(now: number): unknown {
    if (this.lastError !== undefined) return this.lastError;
    const waited = now - this.#askedAt;
    const isSilent = this.stage === 'sent' && (!this.#foundNone || waited >= SLOW_CALL_MS);
    return isSilent ? new CallTimeoutError(waited) : undefined;
  }
}
