import type { Backend, SemaphoreKey } from '../backends/backend.js';
import { adoptedId } from '../backends/ticket-id.js';
import { ClosedError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import { telemetry } from '../telemetry.js';
import { nextTick } from '../time/clock.js';
import { inSlices } from '../time/in-slices.js';
import { Admin } from './admin.js';
import { Client } from './client.js';
import { Inbox } from './inbox.js';
import { Lease } from './lease.js';
import { Releases } from './release.js';
import type { AcquireParams } from './request.js';
import { publishGrant, Request } from './request.js';
import { SemaphoreLink } from './semaphore-link.js';
import { Waiters } from './waiters.js';

/**
 * The permits of one semaphore object: a request waits, a lease is held, a release gives it back.
 */
export class LocalPermits {
  readonly link: SemaphoreLink;
  readonly releases: Releases;
  readonly waiters: Waiters;
  readonly admin: Admin;
  readonly #inbox: Inbox;

  constructor(backend: Backend, key: SemaphoreKey, options: ResolvedOptions) {
    const client = Client.of(backend, options.clock);
    const keep = options.keeper?.open({ ...options, key }, backend, options.clock);
    this.link = new SemaphoreLink(client, key, options, keep);
    this.releases = new Releases(this.link);
    this.#inbox = Inbox.of(client, key.prefix);
    this.waiters = new Waiters(this.releases, this.#inbox);
    this.admin = new Admin(this.link);
  }

  /** Undefined when it was refused, which is an answer to `tryAcquire`. */
  acquire(params: AcquireParams): Promise<Lease | undefined> {
    const request = this.newRequest(params);
    // A telemetry subscriber may have ended it.
    if (request.isPending) request.ask(request.started);
    return request.outcome;
  }

  /** A request that has not asked yet; see also `acquireTogether`. */
  newRequest(params: AcquireParams): Request {
    return new Request(this.waiters, this.link.client.registry.newId(params.permits), params);
  }

  /** Undefined when the ticket is gone. */
  async adopt(id: string, permits: number): Promise<Lease | undefined> {
    const { client, key } = this.link;
    const newId = adoptedId(client.registry.newId(permits), id);
    const { reply, sent } = await this.admin.adopt(id, newId);
    const { ticket } = reply;
    if (ticket === undefined) return undefined;
    const lease = new Lease(this.releases, newId);
    if (!lease.hold(ticket, { from: sent, duration: lease.ttl }, true)) return undefined;
    this.link.know(lease);
    if (telemetry.grant.active) publishGrant(lease, 0, 0);
    // A call that ran twice found the ticket under its new id already.
    if (ticket.before !== newId) client.registry.lose(key, ticket.before, 'missing');
    return lease;
  }

  async revoke(id: string): Promise<boolean> {
    const { client, key } = this.link;
    const isRevoked = await this.admin.revoke(id);
    if (isRevoked) client.registry.lose(key, id, 'revoked');
    return isRevoked;
  }

  /**
   * Rejects its waiters, loses the leases that are still held `drain` milliseconds later, and gives
   * everything back. Never rejects.
   */
  async close(drain: number): Promise<void> {
    const reason = (): ClosedError => new ClosedError(this.link.name);
    const adminClosed = this.admin.close(reason());
    await Promise.all([this.#abandonAll(reason), this.#loseAllAfter(drain)]);
    // At the same time, so that a server that hangs holds it up once.
    await Promise.all([adminClosed, this.#inbox.close(), this.releases.drained()]);
    // The timer that all semaphores share ends a tick after its last user.
    await new Promise<void>((resolve) => nextTick(resolve));
  }

  #abandonAll(reason: () => Error): Promise<void> {
    const requests = [...this.link.permits.values()].flatMap((permit) =>
      permit instanceof Request && permit.isPending ? permit : [],
    );
    return inSlices(requests, (request) => request.abandon(reason()));
  }

  /** The first leases at once, if there is no time. */
  async #loseAllAfter(drain: number): Promise<void> {
    if (drain > 0) await this.link.drain(drain);
    await inSlices([...this.link.permits.values()], (permit) => permit.lose?.('closed'));
  }
}
