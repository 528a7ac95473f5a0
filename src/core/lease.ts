import { safeCause } from '../arguments/shown.js';
import type { PushedGrant, Ticket } from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import { UnfitServerError } from '../backends/unfit-server.js';
import type { KeptLease } from '../backends/lease-keeper.js';
import { HandleLostError, type LostReason } from '../errors.js';
import { telemetry } from '../telemetry.js';
import { backoffDelay } from '../time/backoff.js';
import { elapsedSince, instant, randomBy } from '../time/clock.js';
import { validityLeft, type ValidityWindow, windowOf } from '../time/validity.js';
import type { Call } from './batcher.js';
import type { Verdict } from './operations.js';
import { Release } from './release.js';

/**
 * After how long a pushed grant is claimed, in milliseconds: a task that is shorter needs no call
 * for that.
 */
const CLAIM_DELAY_MS = 50;

/** A call of `extend` that waits for an extension. */
interface Caller {
  /** The number of the first call with an extension that has left since; Infinity: none has. */
  from: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * One held ticket and for how long it is valid. That time counts from the moment before the last
 * confirmed call was *sent*: its reply may be late. A safety margin of 1 % + 2 ms is taken off
 * for clocks that run apart, as Redlock does
 * (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
 */
export class Lease extends Release {
  slots!: readonly number[];
  fencingToken = 0;
  /** Monotonic time since which it is held, or a little earlier. */
  heldSince = 0;
  /** Monotonic time of the next extension. */
  #dueAt = Infinity;
  #window!: ValidityWindow;
  /** The call of its last extension, until that is answered; `gathering`: it has not left yet. */
  #extension: Call | 'gathering' | undefined;
  /** How many extensions failed in a row. */
  #failures = 0;
  #callers: Caller[] | undefined;
  /** Why it was lost, if it was. */
  loss: HandleLostError | undefined;
  /** Undefined: it is renewed here alone. */
  #kept: KeptLease | undefined;

  /** From now on it is extended and watched. False when it is no longer valid. */
  hold(ticket: Ticket, window: ValidityWindow, isClaimed: boolean): boolean {
    this.slots = ticket.slots;
    this.fencingToken = ticket.fencingToken;
    this.#window = window;
    const now = this.link.clock.monotonic();
    const remaining = this.#left(now);
    if (remaining <= 0) return false;
    // A clock of the user's own may throw: none is read from here on.
    this.stage = 'held';
    this.lastError = undefined;
    // The window of a grant that was pushed begins with an earlier call.
    this.heldSince = isClaimed ? window.from.monotonic : now;
    // A grant that was pushed lives for its claim time only, until it is first extended.
    const claimAt = now + Math.min(remaining / 2, CLAIM_DELAY_MS);
    this.#dueAt = isClaimed ? this.heldSince + this.link.extendEvery : claimAt;
    this.#kept = this.link.keep?.(this);
    this.link.countHeld(this.slots.length);
    this.#setBeat(now, remaining);
    return true;
  }

  get name(): string {
    return this.link.name;
  }

  get ttl(): number {
    return this.link.options.ttl;
  }

  /** How long a call that extends it may take, in milliseconds. */
  get callTimeoutMs(): number {
    // Short enough for several tries within the lease, or within the claim time.
    const life = this.#window.duration < this.ttl ? CLAIM_TIME_MS / 4 : this.link.callTimeoutMs;
    return Math.min(life, this.ttl / 6);
  }

  /**
   * Milliseconds for which it is still valid, read off the clocks now: right even when no timer
   * could run.
   */
  get remaining(): number {
    return this.stage === 'held' ? this.#left() : 0;
  }

  #left(now?: number): number {
    if (this.#kept?.loss() !== undefined) return 0;
    const leftHere = validityLeft(this.#window, this.link.clock, now);
    return Math.max(0, leftHere, this.#kept?.left() ?? 0);
  }

  /**
   * As `remaining`, and a lease that is found over is lost from then on, also when a wall clock is
   * set back.
   */
  check(): number {
    const { remaining } = this;
    if (remaining > 0) return remaining;
    this.lose(this.#kept?.loss() ?? 'expired', this.lastError);
    return 0;
  }

  /** The keeper extends it no more: this thread continues with the validity of the keeper. */
  takeBack(): void {
    if (this.stage === 'held') this.#window = windowOf(instant(this.link.clock), this.remaining);
    this.#kept = undefined;
  }

  /**
   * Milliseconds until this thread extends it; negative when it is late. A keeper's extensions are
   * half a period late before this thread helps out.
   */
  #dueIn(now: number): number {
    const due = this.#dueAt - now;
    if (this.#kept === undefined) return due;
    return Math.max(due, this.#kept.left() - this.ttl + 1.5 * this.link.extendEvery);
  }

  #setBeat(now: number, remaining: number): void {
    const { beats } = this.link;
    const dueIn = this.#extension === undefined ? this.#dueIn(now) : Infinity;
    if (remaining <= dueIn) beats.wakeBy(now + remaining, now);
    else beats.wakeAround(now + dueIn, now);
  }

  /** Extends it in time, or ends it. True: it has ended. */
  beat(now: number): boolean {
    if (this.stage !== 'held') return false;
    const remaining = this.check();
    if (remaining === 0) return true;
    // A lease that is soon due travels with leases that are due, unless a keeper extends it.
    const early = this.#kept === undefined ? this.link.extendEvery / 2 : 0;
    if (this.#extension === undefined && this.#dueIn(now) - early <= 0) this.renew();
    else if (this.#kept !== undefined) this.getObserver()?.onExtended();
    this.#setBeat(now, remaining);
    return false;
  }

  renew(): void {
    if (this.stage !== 'held' || this.#extension === 'gathering') return;
    // First: a clock of the user's own may throw.
    this.link.batchers.renewals.add(this.link.toExtend, this);
    this.#extension = 'gathering';
  }

  /**
   * Settles with the first extension that is sent from now on and confirmed, or when the lease
   * ends.
   */
  async extend(): Promise<void> {
    if (this.#kept !== undefined && (await this.#kept.extend())) return;
    if (this.stage !== 'held') throw this.lossError();
    this.renew();
    await new Promise<void>((resolve, reject) => {
      (this.#callers ??= []).push({ from: Infinity, resolve, reject });
    });
  }

  override joinCall(call: Call): boolean {
    if (call.operation !== 'extend') return super.joinCall(call);
    this.#extension = call;
    for (const caller of this.#callers ?? []) caller.from = Math.min(caller.from, call.number);
    return this.stage === 'held';
  }

  override answer(verdict: Verdict, call: Call): void {
    if (typeof verdict !== 'string') return super.answer(verdict, call);
    if (this.#extension === call) this.#extension = undefined;
    if (verdict === 'extended') return this.#onExtended(call);
    this.lose(verdict);
    // Under its id there may be another ticket by now, which has no holder.
    if (verdict === 'missing' && this.stage === 'over') this.withdraw();
  }

  #onExtended(call: Call): void {
    // It was extended after its holder had given up: its ticket has no holder any more.
    if (this.loss !== undefined) return this.withdraw();
    if (this.stage !== 'held') return;
    const { ttl, link } = this;
    this.#failures = 0;
    this.lastError = undefined;
    const window = { from: call.sent, duration: ttl };
    // A late reply never shortens the validity.
    if (validityLeft(window, link.clock) > this.remaining) this.#window = window;
    if (telemetry.extend.hasSubscribers) this.#publishExtend(undefined);
    if (this.check() === 0) return;
    this.#kept ??= link.keep?.(this);
    this.getObserver()?.onExtended();
    // A whole period after the extension that was just confirmed was sent: on a slow network, too.
    this.#dueAt = call.sent.monotonic + link.extendEvery;
    this.#setBeat(link.clock.monotonic(), this.remaining);
    // A caller that asked after this call had left waits for the next.
    for (const { from, resolve } of this.#callers ?? []) if (from <= call.number) resolve();
    this.#callers = this.#callers?.filter(({ from }) => from > call.number);
  }

  /** One failure is not loss: it is tried again after a pause. */
  override fail(error: unknown, call: Call): void {
    if (call.operation !== 'extend') return super.fail(error, call);
    if (this.#extension === call) this.#extension = undefined;
    const { clock, options, client } = this.link;
    if (telemetry.extend.hasSubscribers) this.#publishExtend(error);
    if (this.stage !== 'held') return;
    const pause = backoffDelay(options.retry, this.#failures, randomBy(clock));
    this.#failures += 1;
    this.lastError = error;
    const now = clock.monotonic();
    this.#dueAt = now + pause;
    this.#setBeat(now, this.remaining);
    if (client.isRetryable(error)) return;
    const failure = this.link.failure('extending', error);
    this.#failCallers(failure);
    // At once, and not at the end of its lease: its holder has that long to stop.
    if (error instanceof UnfitServerError) this.lose('expired', failure);
  }

  /** From now on it is lost, whatever the clocks say later. */
  lose(reason: LostReason, cause?: unknown): void {
    if (this.stage !== 'held') return;
    const { clock, name } = this.link;
    const error = new HandleLostError(name, this.id, reason, cause);
    const from = instant(clock);
    this.loss = error;
    // Its holder overruns it from now on, or since the keeper's last renewal ran out; after a close
    // it never does.
    const duration = reason === 'closed' ? Infinity : Math.min(0, this.#kept?.left() ?? 0);
    if (reason !== 'expired' || this.#kept) this.#window = { from, duration };
    this.stage = 'over';
    this.#stop();
    // A lease that ran out is left to expire in the backend: the margin is its holder's time to
    // stop. A lease that close() gave up goes at once.
    if (reason === 'closed') this.withdraw();
    telemetry.lost.publish({ name, id: this.id, reason, heldFor: from.monotonic - this.heldSince });
    // Not at once: a getter may have found the loss.
    queueMicrotask(() => this.getObserver()?.onLost(error));
  }

  /** It is held no more. It stays known until its release has ended. */
  #stop(): void {
    if (this.stage === 'over') this.link.forget(this);
    this.#kept?.stop();
    this.link.countHeld(-this.slots.length);
    this.#failCallers();
  }

  /** With the loss where `error` is left out. A stack costs much: none is made for no caller. */
  #failCallers(error?: Error): void {
    for (const { reject } of this.#callers ?? []) reject(error ?? this.lossError());
    this.#callers = undefined;
  }

  /** The error of `assertHeld` once the lease is over. */
  lossError(): HandleLostError {
    return this.loss ?? new HandleLostError(this.name, this.id, 'released');
  }

  /**
   * Why its release found no ticket. Undefined: the lease was held until then, and ran out before
   * the backend answered.
   */
  get goneBecause(): LostReason | undefined {
    return this.loss?.reason ?? (this.#left() > 0 ? 'missing' : undefined);
  }

  /** See `Handle.release`. */
  release(): Promise<boolean> {
    // Nothing is left of a lease that was lost: its holder has stopped now, so the ticket need not
    // be left to expire.
    const now = this.link.clock.monotonic();
    const wasHeld = this.stage === 'held';
    // First, so that the timer of all continues without a pause.
    const left = wasHeld ? this.#left(now) : 0;
    const released = this.giveBack(now, left);
    // Its keeper forgets the renewals.
    if (wasHeld && this.#kept) this.#window = windowOf(instant(this.link.clock), left);
    if (wasHeld) this.#stop();
    if (telemetry.release.hasSubscribers) this.#publishRelease(released);
    return released;
  }

  /** Its handle was garbage collected: it is left to expire. */
  letExpire(): void {
    if (this.stage !== 'held') return;
    this.stage = 'over';
    this.#stop();
    telemetry.drop.publish({ name: this.name, id: this.id });
  }

  /**
   * A later token under the id of a held ticket: a call that was late was granted again. The ticket
   * that is held was lost with the server's data, and its slots may belong to another holder.
   */
  takeGrant({ fencingToken }: PushedGrant): void {
    if (fencingToken > this.fencingToken) this.onReportedGone();
  }

  /**
   * Any program may send a message: an extension shows whether it is true. After a failure the next
   * extension does, which messages must not put off.
   */
  onReportedGone(): void {
    if (this.#failures === 0) this.renew();
  }

  /** `waited`: milliseconds since the call of `acquire`. */
  publishGrant(waited: number): void {
    const { name, id, slots, fencingToken, attempts } = this;
    telemetry.grant.publish({ name, id, slots, fencingToken, waited, attempts });
  }

  #publishExtend(error: unknown): void {
    telemetry.extend.publish({ name: this.name, id: this.id, error: safeCause(error) });
  }

  #publishRelease(ended: Promise<boolean>): void {
    const { name, id, loss, heldSince, link } = this;
    const heldFor = link.clock.monotonic() - heldSince;
    const { from, duration } = this.#window;
    const overrun = Math.max(0, elapsedSince(from, link.clock) - duration);
    const about = { name, id, heldFor, lost: loss?.reason, overrun };
    const publish = (released: boolean, error?: unknown): void =>
      telemetry.release.publish({ ...about, released, error });
    ended.then(publish, (error: unknown) => publish(false, error));
  }
}
