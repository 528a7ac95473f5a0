import type {
  AcquireReply,
  Backend,
  Call,
  ExtendReply,
  InspectReply,
  PushedGrant,
  ReleaseReply,
  Reply,
} from '../backends/backend.js';
import type { Instant } from '../time/clock.js';
import { instant } from '../time/clock.js';
import type { LostReason } from '../errors.js';
import { BackendError } from '../errors.js';
import { LeaseRenewer } from './lease-renewer.js';
import type { Handle, HandleKeeper } from '../handle.js';
import { Heartbeat } from './heartbeat.js';
import type { GrantInbox } from './grant-inbox.js';
import type { LeaseHolder, LeaseKeeper, LeaseTerms, LeaseTicket } from './lease.js';
import { Lease } from './lease.js';
import { publishLost, publishRelease } from './lease-telemetry.js';
import type { ResolvedOptions } from '../options.js';
import type { RetryOptions } from '../calling/retry.js';
import { retryUntilDeadline } from '../calling/retry.js';
import type { AcquireRequest } from './acquire-request.js';
import type { ValidityWindow } from '../time/server-clock.js';
import { ServerClock } from '../time/server-clock.js';
import { telemetry } from '../telemetry.js';
import { Releaser } from './releaser.js';
import { callTimeout } from '../calling/call-timeout.js';
import { WaitLoop } from './wait-loop.js';

/** After how long a pushed grant is claimed, in milliseconds: a task that is shorter needs no call for that. */
const CLAIM_DELAY = 50;

interface Adoption {
  readonly lease: Lease;
  /** The id that the ticket had until now. */
  readonly before: string;
}

/**
 * What all `Semaphore` objects of one process with the same backend, name and options share: their
 * waiters, their heartbeat, and their calls, which travel together.
 */
export class SemaphoreEngine implements HandleKeeper, LeaseKeeper {
  readonly waitLoop: WaitLoop;
  readonly siblings: object | undefined;
  readonly #backend: Backend;
  readonly #call: Call;
  readonly #options: ResolvedOptions;
  readonly #inbox: GrantInbox;
  readonly #terms: LeaseTerms;
  readonly #patience: RetryOptions;
  readonly #serverClock: ServerClock;
  readonly #heartbeat: Heartbeat;
  readonly #returns: Releaser;
  readonly #extensions: LeaseRenewer;
  #limit: number;
  #otherLimit: number | undefined;

  /** `siblings`: kept for as long as this is, see `EngineRegistry`. */
  constructor(
    backend: Backend,
    call: Call,
    options: ResolvedOptions,
    inbox: GrantInbox,
    siblings?: object,
  ) {
    this.siblings = siblings;
    const { clock, retry, ttl, extendEvery } = options;
    this.#backend = backend;
    this.#call = call;
    this.#limit = call.limit;
    this.#options = options;
    this.#inbox = inbox;
    this.#terms = { name: call.key.name, ttl, clock, keeper: this };
    this.#serverClock = new ServerClock(clock);
    const isRetryable = (error: unknown): boolean => backend.isRetryable?.(error) ?? true;
    const shared = { clock, retry, ttl, limit: callTimeout(ttl), isRetryable };
    this.#patience = shared;
    this.#heartbeat = new Heartbeat({
      clock,
      extendEvery,
      extend: (lease) => this.#extensions.add(lease),
    });
    this.#extensions = new LeaseRenewer({
      ...shared,
      call: (leases) => this.#callExtend(leases),
      heartbeat: this.#heartbeat,
      withdraw: (id) => this.#returns.withdraw(id),
    });
    this.#returns = new Releaser({ ...shared, call: (ids) => this.#callRelease(ids) });
    this.waitLoop = new WaitLoop({
      ...shared,
      name: call.key.name,
      inbox,
      claimByAsking: backend.confirmsPushedGrants === true,
      serverClock: this.#serverClock,
      call: (requests, notAfter) => this.#callAcquire(requests, notAfter),
      makeLease: (...ticket) => this.#makeLease(...ticket),
      withdraw: (id) => this.#returns.withdraw(id),
      onRestored: () => void this.#giveBackStrays(),
    });
  }

  /** The limit that counts, as of the last reply. */
  get limit(): number {
    return this.#limit;
  }

  /** Another limit that somebody else uses, where none is stored; undefined while none was seen. */
  get otherLimit(): number | undefined {
    return this.#otherLimit;
  }

  extend(lease: Lease): Promise<void> {
    return this.#extensions.extend(lease);
  }

  release(lease: Lease, remaining: number, handle: Handle): Promise<boolean> {
    const released = this.#returns.release(lease, remaining, handle);
    if (telemetry.release.active) publishRelease(lease, released, this.#options.clock.monotonic());
    return released;
  }

  /** Its ticket was taken away. */
  lose(id: string, reason: LostReason): void {
    this.#heartbeat.find(id)?.lose(reason);
  }

  /** Whether a request or a ticket of this id is wanted here. */
  wants(id: string): boolean {
    return this.waitLoop.has(id) || this.#heartbeat.find(id) !== undefined;
  }

  /** False when it is for nobody here. */
  onGrant(grant: PushedGrant): boolean {
    if (this.waitLoop.onGrant(grant)) return true;
    const lease = this.#heartbeat.find(grant.id);
    // A later one under the id of a held ticket: that ticket is gone, see `Lease.supersede`.
    if (lease !== undefined && grant.fencingToken > lease.fencingToken)
      this.#extensions.doubt(lease);
    return lease !== undefined;
  }

  /** A message says that a ticket was taken away. */
  onEnded(id: string): void {
    const lease = this.#heartbeat.find(id);
    if (lease !== undefined) this.#extensions.doubt(lease);
  }

  /** Gives back what the backend has under `id`; `onEnd` when that is over. */
  withdraw(id: string, onEnd: () => void): void {
    this.#returns.withdraw(id, onEnd);
  }

  /** See `Semaphore.setLimit`, `adopt`, `revoke`. */
  async setLimit(newLimit: number): Promise<void> {
    const setLimit = this.#backend.setLimit?.bind(this.#backend);
    if (setLimit === undefined) throw unable('setLimit');
    const call = { ...this.#call, newLimit };
    await this.#patiently('setting the limit', (notAfter) => setLimit({ ...call, notAfter }));
    this.#otherLimit = undefined;
  }

  /** Undefined when the ticket is gone. `newId` is what it is called from now on. */
  async adopt(id: string, newId: string): Promise<Adoption | undefined> {
    const adopt = this.#backend.adopt?.bind(this.#backend);
    if (adopt === undefined) throw unable('adopt');
    const { ttl, label } = this.#options;
    const call = { ...this.#call, ttl, label, id, newId };
    const { sent, reply } = await this.#patiently('adopting', (notAfter) =>
      adopt({ ...call, notAfter }),
    );
    const { ticket } = reply;
    if (ticket === undefined) return undefined;
    const lease = this.#makeLease(newId, ticket, { since: sent, span: ttl }, true);
    return lease && { lease, before: ticket.before };
  }

  async revoke(id: string): Promise<boolean> {
    const revoke = this.#backend.revoke?.bind(this.#backend);
    if (revoke === undefined) throw unable('revoke');
    const call = { ...this.#call, id };
    const { reply } = await this.#patiently('revoking', () => revoke(call));
    return reply.revoked;
  }

  async inspect(): Promise<InspectReply> {
    const inspect = () => this.#backend.inspect(this.#call);
    const reply = await retryUntilDeadline(this.#patience, 'inspecting', inspect);
    this.#limit = reply.limitFrom === 'setLimit' ? reply.limit : this.#call.limit;
    return reply;
  }

  /** Those that are kept for a semaphore object. */
  heldBy(holder: LeaseHolder): Lease[] {
    return this.#heartbeat.heldBy(holder);
  }

  /** Resolves when all that was given back or withdrawn is confirmed, or after the time that one call may take. */
  drained(): Promise<void> {
    return this.#returns.drained();
  }

  onLeaseEnd(lease: Lease): void {
    this.#heartbeat.remove(lease);
    this.#extensions.onLeaseEnd(lease);
    // A lease that ran out is left to expire in the backend: the margin is its holder's time to stop. One that
    // was given up by close() goes at once.
    const { state } = lease;
    if (state.kind !== 'lost') return;
    const { reason } = state.error;
    if (reason === 'closed') this.#returns.withdraw(lease.id);
    if (telemetry.lost.active) publishLost(lease, reason, this.#options.clock.monotonic());
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and tickets that were given
   * back: nobody else can tell that these are not wanted.
   */
  async #giveBackStrays(): Promise<void> {
    try {
      const { holders, waiters } = await this.#backend.inspect(this.#call);
      const ids = [...holders, ...waiters].map(({ id }) => id);
      this.#inbox.sift(ids, this.#call.key.name);
    } catch {
      // Each comes to light when it is granted.
    }
  }

  /** Starts to keep a ticket: it is extended and watched. */
  #makeLease(
    id: string,
    ticket: LeaseTicket,
    certainty: ValidityWindow,
    claimed: boolean,
  ): Lease | undefined {
    const { clock, extendEvery } = this.#options;
    const lease = new Lease(this.#terms, id, ticket, certainty);
    lease.claimed = claimed;
    const { remaining } = lease;
    if (remaining <= 0) return undefined;
    const every = extendEvery === 0 ? Infinity : extendEvery;
    const now = clock.monotonic();
    // A grant that was pushed lives for its claim time only, until it is first extended.
    const dueAt = claimed
      ? certainty.since.monotonic + every
      : now + Math.min(every, remaining / 2, CLAIM_DELAY);
    this.#heartbeat.add(lease, dueAt, now + remaining, now);
    return lease;
  }

  async #callAcquire(
    requests: readonly AcquireRequest[],
    notAfter: number | undefined,
  ): Promise<AcquireReply> {
    const { key, limit, client } = this.#call;
    const { ttl, label, clock } = this.#options;
    const sent = instant(clock);
    const call = { key, limit, client, ttl, label, notAfter, requests };
    return this.#heard(sent, only(await this.#backend.acquire([call])));
  }

  async #callRelease(ids: readonly string[]): Promise<ReleaseReply> {
    const sent = instant(this.#options.clock);
    return this.#heard(sent, only(await this.#backend.release([{ ...this.#call, ids }])));
  }

  async #callExtend(leases: readonly Lease[]): Promise<ExtendReply> {
    const { ttl, clock } = this.#options;
    const sent = instant(clock);
    const ids = leases.map((one) => one.id);
    const tickets = { ids, fencingTokens: leases.map((one) => one.fencingToken) };
    return this.#heard(
      sent,
      only(await this.#backend.extend([{ ...this.#call, ttl, ...tickets }])),
    );
  }

  #heard<R extends Reply>(sent: Instant, reply: R): R {
    this.#serverClock.observe(sent, reply.serverTime);
    this.#limit = reply.storedLimit ?? this.#call.limit;
    if (reply.otherLimit !== undefined) this.#onOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.#handOver(reply.grants);
    return reply;
  }

  /** `call` gets the server time after which it must do nothing: by then the caller was told that it failed. */
  async #patiently<R extends Reply & { readonly late?: boolean }>(
    what: string,
    call: (notAfter: number | undefined) => Promise<R>,
  ) {
    const { clock } = this.#options;
    const over = clock.monotonic() + this.#patience.limit;
    return retryUntilDeadline(this.#patience, what, async () => {
      const sent = instant(clock);
      const told = await call(this.#serverClock.latestIn(Math.max(over - clock.monotonic(), 0)));
      const reply = this.#heard(sent, told);
      // The server's clock was stepped, or the call was delayed: again, now that the clock is known anew.
      if (reply.late === true) throw new Error('the call came too late to act');
      return { sent, reply };
    });
  }

  /** Most are for requests of its own, the rest for others in this process, or for nobody. */
  #handOver(grants: readonly PushedGrant[]): void {
    const others = grants.filter((grant) => !this.onGrant(grant));
    if (others.length > 0) this.#inbox.deliver(others, this.#call.key.name);
  }

  #onOtherLimit(otherLimit: number): void {
    if (this.#otherLimit !== undefined) return;
    this.#otherLimit = otherLimit;
    const { key, limit } = this.#call;
    if (telemetry.mismatch.active) {
      telemetry.mismatch.publish({ name: key.name, limit, otherLimit });
    }
  }
}

function unable(method: string): BackendError {
  return new BackendError(`this backend has no ${method}`);
}

function only<R>([reply]: readonly R[]): R {
  if (reply === undefined) throw new Error('expected one reply, got none');
  return reply;
}
