import type {
  AcquireReply,
  Backend,
  Call,
  ExtendReply,
  InspectReply,
  PushedGrant,
  ReleaseReply,
  Reply,
} from './backend.js';
import { CLAIM_TIME, UnfitServerError } from './backend.js';
import { backoffDelay } from './backoff.js';
import type { Instant } from './clock.js';
import { instant } from './clock.js';
import type { LostReason } from './errors.js';
import { BackendError } from './errors.js';
import { GroupCommit } from './group-commit.js';
import type { Handle, HandleKeeper } from './handle.js';
import { Heartbeat } from './heartbeat.js';
import type { Inbox } from './inbox.js';
import type { LeaseHolder, LeaseKeeper, LeaseTerms, LeaseTicket } from './lease.js';
import { Lease } from './lease.js';
import { publishExtend, publishLost, publishRelease } from './lease-telemetry.js';
import type { ResolvedOptions } from './options.js';
import type { PatientCallOptions } from './patient-call.js';
import { patientCall } from './patient-call.js';
import type { PermitRequest } from './permit-request.js';
import type { Certainty } from './server-clock.js';
import { ServerClock } from './server-clock.js';
import { telemetry } from './telemetry.js';
import { TicketReturns } from './ticket-returns.js';
import { callLimit, settleWithin } from './time-limit.js';
import { WaitLoop } from './wait-loop.js';

interface Adoption {
  readonly lease: Lease;
  /** The id that the ticket had until now. */
  readonly before: string;
}

interface Awaited {
  /** How many calls were sent before. */
  readonly asked: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * What all `Semaphore` objects of one process with the same backend, name and options share: their
 * waiters, their heartbeat, and their calls, which travel together.
 */
export class Coordinator implements HandleKeeper, LeaseKeeper {
  readonly waitLoop: WaitLoop;
  readonly #backend: Backend;
  readonly #call: Call;
  readonly #options: ResolvedOptions;
  readonly #inbox: Inbox;
  readonly #terms: LeaseTerms;
  readonly #patience: PatientCallOptions;
  readonly #serverClock: ServerClock;
  readonly #heartbeat: Heartbeat;
  readonly #returns: TicketReturns;
  readonly #extensions = new GroupCommit<Lease>((batch, done) => this.#sendExtensions(batch, done));
  /** Callers of `extend` by the lease that they wait for. */
  readonly #awaited = new Map<Lease, Awaited[]>();
  #extendCalls = 0;
  #limit: number;
  #otherLimit: number | undefined;

  constructor(backend: Backend, call: Call, options: ResolvedOptions, inbox: Inbox) {
    const { clock, retry, ttl, extendEvery } = options;
    this.#backend = backend;
    this.#call = call;
    this.#limit = call.limit;
    this.#options = options;
    this.#inbox = inbox;
    this.#terms = { name: call.key.name, ttl, clock, keeper: this };
    this.#serverClock = new ServerClock(clock);
    const isRetryable = (error: unknown): boolean => backend.isRetryable?.(error) ?? true;
    const shared = { clock, retry, ttl, limit: callLimit(ttl), isRetryable };
    this.#patience = shared;
    this.#heartbeat = new Heartbeat({
      clock,
      extendEvery,
      extend: (lease) => this.#addExtension(lease),
    });
    this.#returns = new TicketReturns({ ...shared, call: (ids) => this.#callRelease(ids) });
    this.waitLoop = new WaitLoop({
      ...shared,
      name: call.key.name,
      inbox,
      claimByAsking: options.replicas !== undefined,
      serverClock: this.#serverClock,
      call: (requests, notAfter) => this.#callAcquire(requests, notAfter),
      makeLease: (...ticket) => this.#makeLease(...ticket),
      withdraw: (id) => this.#returns.withdraw(id),
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

  /** Settles with the first extension that is sent from now on and confirmed, or when the lease ends. */
  extend(lease: Lease): Promise<void> {
    return new Promise((resolve, reject) => {
      const others = this.#awaited.get(lease) ?? [];
      this.#awaited.set(lease, [...others, { asked: this.#extendCalls, resolve, reject }]);
      this.#addExtension(lease);
    });
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

  /** A grant that nobody waits for: where it is of a held ticket's id and a later one, that ticket is gone, see `Lease.supersede`. */
  onUnclaimed({ id, fencingToken }: PushedGrant): void {
    if (this.#heartbeat.find(id)?.supersede(fencingToken) === true) this.#returns.withdraw(id);
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
    return patientCall(this.#patience, 'inspecting', () => this.#backend.inspect(this.#call));
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
    if (this.#awaited.has(lease)) this.#settleAwaited(lease, lease.lossError());
    // A lease that ran out is left to expire in the backend: the margin is its holder's time to stop. One that
    // was given up by close() goes at once.
    const { state } = lease;
    if (state.kind !== 'lost') return;
    const { reason } = state.error;
    if (reason === 'closed') this.#returns.withdraw(lease.id);
    if (telemetry.lost.active) publishLost(lease, reason, this.#options.clock.monotonic());
  }

  /** Starts to keep a ticket: it is extended and watched. */
  #makeLease(
    id: string,
    ticket: LeaseTicket,
    certainty: Certainty,
    claimed: boolean,
  ): Lease | undefined {
    const { clock, extendEvery } = this.#options;
    const lease = new Lease(this.#terms, id, ticket, certainty);
    const { remaining } = lease;
    if (remaining <= 0) return undefined;
    const every = extendEvery === 0 ? Infinity : extendEvery;
    const now = clock.monotonic();
    // A grant that was pushed lives for its claim time only, until it is first extended.
    const dueAt = claimed
      ? certainty.since.monotonic + every
      : now + Math.min(every, remaining / 2, CLAIM_TIME / 2);
    this.#heartbeat.add(lease, dueAt, now + remaining, now);
    return lease;
  }

  async #callAcquire(
    requests: readonly PermitRequest[],
    notAfter: number | undefined,
  ): Promise<AcquireReply> {
    const { key, limit, client } = this.#call;
    const { ttl, label, clock, replicas } = this.#options;
    const sent = instant(clock);
    const call = { key, limit, client, ttl, label, notAfter, requests, replicas };
    if (replicas === undefined) return this.#heard(sent, await this.#backend.acquire(call));
    const attempts = requests.map((request) => request.attempts);
    const reply = this.#heard(sent, await this.#backend.acquire(call));
    if (reply.tooFewReplicas === undefined) return reply;
    // Where the request has been asked for again since, the ticket is that call's, and may be held.
    const undone = requests.filter(
      (request, i) => reply.verdicts[i]?.kind === 'granted' && request.attempts === attempts[i],
    );
    if (undone.length > 0) await this.#callRelease(undone.map(({ id }) => id));
    throw reply.tooFewReplicas;
  }

  async #callRelease(ids: readonly string[]): Promise<ReleaseReply> {
    const sent = instant(this.#options.clock);
    return this.#heard(sent, await this.#backend.release({ ...this.#call, ids }));
  }

  async #callExtend(leases: readonly Lease[]): Promise<ExtendReply> {
    const { ttl, clock } = this.#options;
    const sent = instant(clock);
    const ids = leases.map((one) => one.id);
    const tickets = { ids, fencingTokens: leases.map((one) => one.fencingToken) };
    return this.#heard(sent, await this.#backend.extend({ ...this.#call, ttl, ...tickets }));
  }

  #heard<R extends Reply>(sent: Instant, reply: R): R {
    this.#serverClock.observe(sent, reply.serverTime);
    this.#limit = reply.storedLimit ?? this.#call.limit;
    if (reply.otherLimit !== undefined) this.#onOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.#inbox.deliver(reply.grants);
    return reply;
  }

  /** `call` gets the server time after which it must do nothing: by then the caller was told that it failed. */
  async #patiently<R extends Reply & { readonly late?: boolean }>(
    what: string,
    call: (notAfter: number | undefined) => Promise<R>,
  ) {
    const { clock } = this.#options;
    const over = clock.monotonic() + this.#patience.limit;
    return patientCall(this.#patience, what, async () => {
      const sent = instant(clock);
      const told = await call(this.#serverClock.latestIn(Math.max(over - clock.monotonic(), 0)));
      const reply = this.#heard(sent, told);
      // The server's clock was stepped, or the call was delayed: again, now that the clock is known anew.
      if (reply.late === true) throw new Error('the call came too late to act');
      return { sent, reply };
    });
  }

  #onOtherLimit(otherLimit: number): void {
    if (this.#otherLimit !== undefined) return;
    this.#otherLimit = otherLimit;
    const { key, limit } = this.#call;
    if (telemetry.mismatch.active) {
      telemetry.mismatch.publish({ name: key.name, limit, otherLimit });
    }
  }

  #addExtension(lease: Lease): void {
    lease.extending = true;
    this.#extensions.add(lease);
  }

  #sendExtensions(batch: Lease[], done: () => void): void {
    const { clock, ttl } = this.#options;
    const leases = batch.filter(({ state }) => state.kind === 'held');
    if (leases.length === 0) return done();
    const sent = instant(clock);
    this.#extendCalls += 1;
    const number = this.#extendCalls;
    // Short enough for several tries within a lease.
    const limit = Math.min(callLimit(ttl), ttl / 6);
    settleWithin(clock, limit, this.#callExtend(leases), {
      onReply: ({ extended, revoked }) =>
        leases.forEach((lease, i) => {
          const gone = revoked?.includes(lease.id) === true ? 'revoked' : 'missing';
          this.#onExtended(lease, extended[i] === true ? undefined : gone, sent, number);
        }),
      onError: (error) => this.#onExtensionError(leases, error),
      onEnd: done,
    });
  }

  #onExtended(lease: Lease, gone: LostReason | undefined, sent: Instant, number: number): void {
    lease.extending = false;
    if (gone !== undefined) {
      lease.lose(gone);
    } else if (lease.state.kind === 'lost') {
      // It was extended after its holder had given up: nobody holds this ticket any more.
      this.#returns.withdraw(lease.id);
    } else if (lease.state.kind === 'held') {
      lease.confirm(sent);
      if (telemetry.extend.active) publishExtend(lease, undefined);
      if (lease.remaining <= 0) return lease.lose('expired');
      this.#heartbeat.confirmed(lease, sent.monotonic);
      this.#settleAwaited(lease, undefined, number);
    }
  }

  #onExtensionError(leases: readonly Lease[], error: unknown): void {
    const retryable = this.#backend.isRetryable?.(error) ?? true;
    for (const lease of leases) {
      lease.extending = false;
      if (telemetry.extend.active) publishExtend(lease, error);
      const pause = backoffDelay(this.#options.retry, lease.failures, Math.random());
      this.#heartbeat.failed(lease, error, pause);
      if (retryable) continue;
      const failure = new BackendError('extending failed', error);
      this.#settleAwaited(lease, failure);
      // At once, and not at the end of its lease: its holder has that long to stop.
      if (error instanceof UnfitServerError) lease.lose('expired', failure);
    }
  }

  /** `number`: that of the call that settles them; whoever asked after it was sent waits for the next one. */
  #settleAwaited(lease: Lease, error?: Error, number = Infinity): void {
    const awaited = this.#awaited.get(lease);
    if (awaited === undefined) return;
    const later = awaited.filter(({ asked }) => asked >= number);
    if (later.length > 0) this.#awaited.set(lease, later);
    else this.#awaited.delete(lease);
    for (const { asked, resolve, reject } of awaited) {
      if (asked >= number) continue;
      if (error === undefined) resolve();
      else reject(error);
    }
  }
}

function unable(method: string): BackendError {
  return new BackendError(`this backend has no ${method}`);
}
