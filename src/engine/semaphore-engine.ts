import type {
  Backend,
  InspectReply,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../backends/backend.js';
import { adoptedId } from '../backends/ticket-id.js';
import type { CallTerms } from '../calling/call-terms.js';
import { callTimeout } from '../time/call-timeout.js';
import type { GrantReader } from '../calling/grant-dispatch.js';
import { OperatorCalls } from '../calling/operator-calls.js';
import { TicketCalls } from '../calling/ticket-calls.js';
import type { LostReason } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import { telemetry } from '../telemetry.js';
import type { Clock } from '../time/clock.js';
import type { AcquireParams } from './acquire-request.js';
import { Drain } from './drain.js';
import { Lease } from './lease.js';
import { LeaseRenewer } from './lease-renewer.js';
import { publishGrant, publishRelease } from './lease-telemetry.js';
import { Releaser } from './releaser.js';
import { WaitLoop } from './wait-loop.js';

/**
 * What one semaphore object does: it waits for permits, keeps them and gives them back, by calls
 * that all semaphores share.
 */
export class SemaphoreEngine implements GrantReader {
  readonly calls: TicketCalls;
  readonly terms: CallTerms;
  readonly waitLoop: WaitLoop;
  readonly renewer: LeaseRenewer;
  readonly operator: OperatorCalls;
  readonly drain: Drain;
  /** Set before close() calls any listener, so that these find it closed. */
  closed = false;
  readonly #clock: Clock;
  readonly #releaser: Releaser;

  constructor(backend: Backend, key: SemaphoreKey, options: ResolvedOptions) {
    const { clock, retry, extendEvery } = options;
    const calls = TicketCalls.of(backend, clock);
    const terms = calls.terms(key, options);
    const shared = { clock, retry, calls, terms };
    this.calls = calls;
    this.terms = terms;
    this.#clock = clock;
    const releaser = new Releaser(shared);
    const renewer = new LeaseRenewer({ ...shared, extendEvery, releaser });
    const confirmsPushedGrants = backend.confirmsPushedGrants === true;
    this.#releaser = releaser;
    this.renewer = renewer;
    this.drain = new Drain(clock, renewer);
    this.waitLoop = new WaitLoop({ ...shared, renewer, releaser, confirmsPushedGrants });
    const isRetryable = (error: unknown): boolean => calls.isRetryable(error);
    const limit = callTimeout(options.ttl);
    this.operator = new OperatorCalls(backend, terms, {
      clock,
      retry,
      limit,
      isRetryable,
      subject: key,
    });
    calls.dispatch.register(key, this);
  }

  /** Undefined when it was refused, which is an answer to `tryAcquire`. */
  acquire(params: AcquireParams): Promise<Lease | undefined> {
    return this.waitLoop.acquire(params);
  }

  /** Milliseconds for which it is still valid. */
  look(lease: Lease): number {
    return this.renewer.look(lease);
  }

  extend(lease: Lease): Promise<void> {
    return this.renewer.extend(lease);
  }

  release(lease: Lease): Promise<boolean> {
    // None of a lease that was lost: its holder has stopped now, so the ticket need not be left to
    // expire.
    const { remaining } = lease;
    this.renewer.end(lease);
    const released = this.#releaser.release(lease, remaining);
    if (telemetry.release.active) publishRelease(lease, released, this.#clock.monotonic());
    return released;
  }

  /** Undefined when the ticket is gone. */
  async adopt(id: string, permits: number): Promise<Lease | undefined> {
    const newId = adoptedId(this.calls.newTicketId(permits), id);
    const adopted = await this.operator.adopt(id, newId);
    if (adopted === undefined) return undefined;
    const { name, ttl, key } = this.terms;
    const { ticket, sent } = adopted;
    const terms = { name, ttl, clock: this.#clock };
    const lease = new Lease(terms, newId, ticket, { from: sent, duration: ttl });
    if (!this.renewer.keep(lease)) return undefined;
    // A call that ran twice found the ticket under its new id already.
    if (ticket.before !== newId) this.calls.dispatch.lose(key, ticket.before, 'missing');
    if (telemetry.grant.active) publishGrant(lease, 0, 0);
    return lease;
  }

  /** A `close` waits for its end, too: the ticket that it brings is then given back. */
  closeAfter(adopting: Promise<unknown>): void {
    this.#releaser.drainAfter(adopting);
  }

  /** The new limit, or that which counts where the change cannot be made. */
  addPermits(delta: number): Promise<{ limit: number | undefined; refused?: boolean }> {
    return this.operator.addPermits(delta, this.calls.newTicketId(1));
  }

  async revoke(id: string): Promise<boolean> {
    const revoked = await this.operator.revoke(id);
    if (revoked) this.calls.dispatch.lose(this.terms.key, id, 'revoked');
    return revoked;
  }

  inspect(): Promise<InspectReply> {
    return this.operator.inspect();
  }

  onGrant(grant: PushedGrant): boolean {
    if (this.waitLoop.onGrant(grant)) return true;
    // Given back as unwanted, it would be gone before its release comes to find it.
    if (this.#releaser.has(grant.id)) return true;
    const lease = this.renewer.find(grant.id);
    // A later one under the id of a held ticket: that ticket is gone, see `LeaseRenewer.supersede`.
    if (lease !== undefined && grant.fencingToken > lease.fencingToken)
      this.renewer.onReportedGone(lease);
    return lease !== undefined;
  }

  onTurn(turn: PushedTurn): void {
    this.waitLoop.onTurn(turn);
  }

  onEnded(id: string): void {
    const lease = this.renewer.find(id);
    if (lease !== undefined) this.renewer.onReportedGone(lease);
  }

  lose(id: string, reason: LostReason): void {
    const lease = this.renewer.find(id);
    if (lease !== undefined) this.renewer.lose(lease, reason);
  }

  wants(id: string): boolean {
    const held = this.renewer.find(id) !== undefined;
    return held || this.waitLoop.has(id) || this.#releaser.has(id);
  }

  askSoon(): void {
    this.waitLoop.askSoon();
  }

  /**
   * Rejects its waiters, loses the leases that are still held `drain` milliseconds later, and gives
   * everything back. Never rejects.
   */
  async close(reason: () => Error, drain: number): Promise<void> {
    this.closed = true;
    const operatorClosed = this.operator.close(reason());
    await Promise.all([this.waitLoop.abandonAll(reason), this.#loseAllAfter(drain)]);
    // At the same time, so that a server that hangs holds it up once.
    const inboxClosed = this.calls.inbox(this.terms.key.prefix).close();
    await Promise.all([operatorClosed, inboxClosed, this.#releaser.drained()]);
  }

  /** The first ones at once where there is no time. */
  async #loseAllAfter(drain: number): Promise<void> {
    if (drain > 0) await this.drain.run(drain);
    await this.renewer.loseAll('closed');
  }
}
