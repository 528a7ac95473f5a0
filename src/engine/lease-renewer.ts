import type { ExtendReply } from '../backends/backend.js';
import { UnfitServerError } from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { CallTerms } from '../calling/call-terms.js';
import { callTimeout } from '../time/call-timeout.js';
import type { ExtendSender } from '../calling/extend-lane.js';
import type { TicketCalls } from '../calling/ticket-calls.js';
import type { LostReason } from '../errors.js';
import { BackendError } from '../errors.js';
import { telemetry } from '../telemetry.js';
import type { Clock, Instant } from '../time/clock.js';
import { randomBy } from '../time/clock.js';
import { inSlices } from '../time/in-slices.js';
import { Wakeup } from '../time/shared-timer.js';
import { Extension } from './extension.js';
import { IndexedList } from './indexed-list.js';
import type { Lease } from './lease.js';
import { publishExtend, publishLost } from './lease-telemetry.js';
import type { Releaser } from './releaser.js';

/**
 * After how long a pushed grant is claimed, in milliseconds: a task that is shorter needs no call
 * for that.
 */
const CLAIM_DELAY_MS = 50;

export interface LeaseRenewerParts {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  /** 0: tickets are never extended, only watched. In milliseconds. */
  readonly extendEvery: number;
  readonly calls: TicketCalls;
  readonly terms: CallTerms;
  readonly releaser: Releaser;
}

/** A caller of `extend`. */
interface Awaiting {
  /** The number of the lease's last extension before: one that was sent earlier does not count. */
  readonly asked: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Keeps the held tickets of one semaphore object alive, all with one wake-up, and notifies a holder
 * when its lease ran out without a confirmed extension. It does not keep the process alive, and no
 * timer is set while nothing is held.
 */
export class LeaseRenewer implements ExtendSender {
  readonly terms: CallTerms;
  gathered: ExtendSender['gathered'] = undefined;
  readonly #parts: LeaseRenewerParts;
  readonly #leases = new IndexedList<Lease>();
  readonly #nextBeat: Wakeup;
  readonly #awaiting = new Map<Lease, Awaiting[]>();
  /** Holders whose leases ran out are being notified. */
  #expiring = false;
  #onEmpty: (() => void) | undefined;

  constructor(parts: LeaseRenewerParts) {
    this.#parts = parts;
    this.terms = parts.terms;
    this.#nextBeat = new Wakeup(parts.clock, false, () => this.#beat());
  }

  /** From now on it is extended and watched. False when it is no longer valid. */
  keep(lease: Lease): boolean {
    const { clock, extendEvery } = this.#parts;
    const { remaining } = lease;
    if (remaining <= 0) return false;
    const now = clock.monotonic();
    const every = extendEvery === 0 ? Infinity : extendEvery;
    // A grant that was pushed lives for its claim time only, until it is first extended.
    const claimIn = Math.min(every, remaining / 2, CLAIM_DELAY_MS);
    lease.dueAt = lease.claimed ? lease.heldSince + every : now + claimIn;
    this.#leases.add(lease);
    this.#wakeFor(lease, now, remaining);
    return true;
  }

  /** How many are held. */
  get size(): number {
    return this.#leases.size;
  }

  /** Calls back when the last one has ended. */
  onceEmpty(listener: () => void): void {
    this.#onEmpty = listener;
  }

  find(id: string): Lease | undefined {
    return this.#leases.get(id);
  }

  /**
   * Milliseconds for which it is still valid. A lease that is found over is lost from then on, also
   * when a wall clock is set back.
   */
  look(lease: Lease): number {
    const { remaining } = lease;
    if (remaining > 0) return remaining;
    // Notified on the next tick: this is called from getters.
    const error = this.#markLost(lease, 'expired', lease.lastError);
    if (error !== undefined) process.nextTick(() => lease.notifyLost(error));
    return 0;
  }

  lose(lease: Lease, reason: LostReason, cause?: unknown): void {
    const error = this.#markLost(lease, reason, cause);
    if (error !== undefined) lease.notifyLost(error);
  }

  loseAll(reason: LostReason): Promise<void> {
    return inSlices(this.#leases.toArray(), (lease) => this.lose(lease, reason));
  }

  /** Its holder releases it. */
  end(lease: Lease): void {
    lease.markReleased();
    this.#remove(lease);
  }

  /**
   * A ticket of its id was seen with this token. A later one means that a call which was late has
   * been granted again: the ticket that is held was lost with the server's data, and its slots may
   * be somebody else's.
   */
  supersede(lease: Lease, fencingToken: number): void {
    if (fencingToken > lease.fencingToken) this.lose(lease, 'missing');
  }

  /**
   * A message says that its ticket is gone. Anybody may have sent it: an extension shows whether
   * that is true.
   */
  onReportedGone(lease: Lease): void {
    if (lease.reportedGone) return;
    lease.reportedGone = true;
    this.#extend(lease);
  }

  /**
   * Settles with the first extension that is sent from now on and confirmed, or when the lease
   * ends.
   */
  extend(lease: Lease): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#extend(lease);
      this.#await(lease, { asked: lease.extensions - 1, resolve, reject });
    });
  }

  #await(lease: Lease, one: Awaiting): void {
    const others = this.#awaiting.get(lease);
    if (others === undefined) this.#awaiting.set(lease, [one]);
    else others.push(one);
  }

  onReply(
    extensions: readonly Extension[],
    { extended, revoked = [] }: ExtendReply,
    sent: Instant,
  ): void {
    for (const [i, extension] of extensions.entries()) {
      const { lease, id } = extension;
      forget(lease, extension);
      if (extended[i] === true) this.#onExtended(extension, sent);
      else this.#onGone(lease, revoked.includes(id) ? 'revoked' : 'missing');
    }
  }

  onFailure(extensions: readonly Extension[], error: unknown): void {
    for (const extension of extensions) {
      forget(extension.lease, extension);
      this.#onError(extension.lease, error);
    }
  }

  #extend(lease: Lease): void {
    // One that has not left yet is as good.
    if (lease.extension?.sent === false) return;
    const { calls, terms } = this.#parts;
    // Short enough for several tries within a lease, or within the claim time.
    const claim = lease.claimed ? Infinity : CLAIM_TIME_MS / 4;
    const limit = Math.min(callTimeout(terms.ttl), terms.ttl / 6, claim);
    lease.extensions += 1;
    const extension = new Extension(lease, lease.extensions);
    lease.extension = extension;
    calls.extendLane(terms, limit).add(this, extension);
  }

  #onGone(lease: Lease, reason: 'missing' | 'revoked'): void {
    const { reportedGone } = lease;
    lease.reportedGone = false;
    // Under its id there may be another ticket by now, which nobody wants.
    if (reportedGone && reason === 'missing') this.#parts.releaser.withdraw(lease.id);
    this.lose(lease, reason);
  }

  #onExtended({ lease, number }: Extension, sent: Instant): void {
    lease.reportedGone = false;
    if (lease.state.kind === 'lost') {
      // It was extended after its holder had given up: nobody holds this ticket any more.
      this.#parts.releaser.withdraw(lease.id);
    } else if (lease.state.kind === 'held') {
      lease.confirm(sent);
      if (telemetry.extend.active) publishExtend(lease, undefined);
      if (lease.remaining <= 0) return this.lose(lease, 'expired');
      this.#onConfirmed(lease, sent.monotonic);
      this.#settle(lease, number);
    }
  }

  /**
   * The next extension is a whole period after the one that was just confirmed was sent: on a slow
   * network, too.
   */
  #onConfirmed(lease: Lease, sentAt: number): void {
    const { clock, extendEvery } = this.#parts;
    const now = clock.monotonic();
    lease.dueAt = extendEvery === 0 ? Infinity : sentAt + extendEvery;
    lease.holdWeakly((dropped) => this.#drop(dropped));
    if (this.#leases.has(lease)) this.#wakeFor(lease, now, lease.remaining);
  }

  /** One failure is not loss: it is tried again after a pause. */
  #onError(lease: Lease, error: unknown): void {
    const { calls, clock, retry } = this.#parts;
    if (telemetry.extend.active) publishExtend(lease, error);
    const pause = backoffDelay(retry, lease.failures, randomBy(clock));
    lease.failures += 1;
    lease.lastError = error;
    const now = clock.monotonic();
    lease.dueAt = now + pause;
    if (this.#leases.has(lease)) this.#wakeFor(lease, now, lease.remaining);
    if (calls.isRetryable(error)) return;
    const failure = new BackendError(
      `extending a permit of ${JSON.stringify(lease.name)} failed`,
      error,
      this.#parts.terms.key,
    );
    this.#settle(lease, Infinity, failure);
    // At once, and not at the end of its lease: its holder has that long to stop.
    if (error instanceof UnfitServerError) this.lose(lease, 'expired', failure);
  }

  /**
   * `number`: of the extension that settles them; callers that asked after it was sent wait for the
   * next one.
   */
  #settle(lease: Lease, number: number, error?: Error): void {
    const awaiting = this.#awaiting.get(lease);
    if (awaiting === undefined) return;
    this.#awaiting.delete(lease);
    for (const one of awaiting) {
      if (one.asked >= number) this.#await(lease, one);
      else if (error === undefined) one.resolve();
      else one.reject(error);
    }
  }

  #markLost(lease: Lease, reason: LostReason, cause: unknown) {
    const error = lease.markLost(reason, cause);
    if (error === undefined) return undefined;
    this.#remove(lease);
    // One that ran out is left to expire in the backend: the margin is its holder's time to stop.
    // One that was given up by close() goes at once.
    if (reason === 'closed') this.#parts.releaser.withdraw(lease.id);
    if (telemetry.lost.active) publishLost(lease, reason, this.#parts.clock.monotonic());
    return error;
  }

  #remove(lease: Lease): void {
    if (this.#leases.remove(lease) && this.#leases.size === 0) {
      this.#nextBeat.stop();
      this.#onEmpty?.();
    }
    if (lease.extension !== undefined) lease.extension.cancelled = true;
    // Only for callers that wait: an error with its stack costs more than all else here.
    if (this.#awaiting.has(lease)) this.#settle(lease, Infinity, lease.lossError());
  }

  /** Its handle was garbage collected. */
  #drop(lease: Lease): void {
    this.#remove(lease);
    if (telemetry.drop.active) telemetry.drop.publish({ name: lease.name, id: lease.id });
  }

  #wakeFor(lease: Lease, now: number, remaining: number): void {
    const { dueAt } = lease;
    if (now + remaining <= dueAt) this.#nextBeat.wakeBy(now + remaining, now);
    else this.#nextBeat.wakeAround(dueAt, now);
  }

  #beat(): void {
    const { clock, extendEvery } = this.#parts;
    const now = clock.monotonic();
    const over: Lease[] = [];
    for (const lease of this.#leases.toArray()) {
      // Those that are soon due travel with those that are due.
      const soon = lease.failures === 0 ? extendEvery / 2 : 0;
      if (lease.remaining <= 0) over.push(lease);
      else if (lease.extension !== undefined) this.#nextBeat.wakeBy(now + lease.remaining, now);
      else if (lease.dueAt > now + soon) this.#wakeFor(lease, now, lease.remaining);
      else {
        this.#extend(lease);
        this.#nextBeat.wakeBy(now + lease.remaining, now);
      }
    }
    if (over.length > 0) void this.#expire(over);
  }

  /**
   * At a look they are lost already. Those that run out meanwhile are found by the beat after them.
   */
  async #expire(over: readonly Lease[]): Promise<void> {
    if (this.#expiring) return;
    this.#expiring = true;
    await inSlices(over, (lease) => {
      // Confirmed before its turn came, it is held after all.
      if (lease.remaining <= 0) this.lose(lease, 'expired', lease.lastError);
    });
    this.#expiring = false;
    const now = this.#parts.clock.monotonic();
    if (this.#leases.size > 0) this.#nextBeat.wakeBy(now, now);
  }
}

function forget(lease: Lease, extension: Extension): void {
  if (lease.extension === extension) lease.extension = undefined;
}
