import type { Backend, SemaphoreKey } from '../backends/backend.js';
import { adoptedId } from '../backends/ticket-id.js';
import { ClosedError } from '../errors.js';
import type { Clock } from '../time/clock.js';
import { nextTick } from '../time/clock.js';
import { Admin } from './admin.js';
import { Client } from './client.js';
import { Inbox } from './inbox.js';
import type { LeaseKeeper } from '../backends/lease-keeper.js';
import type { Lease } from './lease.js';
import { Leases } from './leases.js';
import { Releases } from './release.js';
import type { LinkOptions } from './semaphore-link.js';
import { SemaphoreLink } from './semaphore-link.js';
import { Waiters } from './waiters.js';

interface LocalOptions extends LinkOptions {
  readonly clock: Clock;
  /** 0: tickets are never extended. In milliseconds. */
  readonly extendEvery: number;
  readonly keeper: LeaseKeeper | undefined;
}

/**
 * The permits of one semaphore object, a part for each stage of their life: a request waits, a
 * lease is held, a release gives it back.
 */
export class LocalPermits {
  readonly link: SemaphoreLink;
  readonly waiters: Waiters;
  readonly leases: Leases;
  readonly releases: Releases;
  readonly admin: Admin;
  readonly #inbox: Inbox;

  constructor(backend: Backend, key: SemaphoreKey, options: LocalOptions) {
    const client = Client.of(backend, options.clock);
    this.link = new SemaphoreLink(client, key, options);
    this.releases = new Releases(this.link);
    const keep = options.keeper?.open({ ...options, key }, backend, options.clock);
    this.leases = new Leases(this.link, this.releases, options.extendEvery, keep);
    this.#inbox = Inbox.of(client, key.prefix);
    this.waiters = new Waiters(this.link, this.leases, this.#inbox);
    this.admin = new Admin(this.link);
  }

  /** Undefined when the ticket is gone. */
  async adopt(id: string, permits: number): Promise<Lease | undefined> {
    const { client, key } = this.link;
    const newId = adoptedId(client.newTicketId(permits), id);
    const adopted = await this.admin.adopt(id, newId);
    const lease = adopted && this.leases.adopt(newId, adopted.ticket, adopted.sent);
    if (adopted === undefined || lease === undefined) return undefined;
    // A call that ran twice found the ticket under its new id already.
    const { before } = adopted.ticket;
    if (before !== newId) client.registry.lose(key, before, 'missing');
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
    await Promise.all([this.waiters.abandonAll(reason), this.#loseAllAfter(drain)]);
    // At the same time, so that a server that hangs holds it up once.
    await Promise.all([adminClosed, this.#inbox.close(), this.releases.drained()]);
    // The timer that all semaphores share ends a tick after its last user.
    await new Promise<void>((resolve) => nextTick(resolve));
  }

  /** The first leases at once, if there is no time. */
  async #loseAllAfter(drain: number): Promise<void> {
    if (drain > 0) await this.leases.drain(drain);
    await this.leases.loseAll('closed');
  }
}
