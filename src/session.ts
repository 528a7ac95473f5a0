import type { Backend, EndedTicket, PushedGrant, SemaphoreKey } from './backend.js';
import type { Clock } from './clock.js';
import { Coordinator } from './coordinator.js';
import type { InboxKeeper } from './inbox.js';
import { Inbox } from './inbox.js';
import type { ResolvedOptions } from './options.js';
import { newClientId, ticketId } from './ticket-id.js';
import { WeakValues } from './weak-values.js';

const sessions = new WeakMap<Backend, WeakMap<Clock, Session>>();

/** What one process does on one backend: its name there, its inboxes, and its semaphores by name and options. */
export class Session implements InboxKeeper {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #client: string;
  // An inbox is kept by its coordinators, its subscription and its timers: unused prefixes take no memory.
  readonly #inboxes = new WeakValues<Inbox>();
  // A coordinator is kept by its semaphores, its handles and its timers: unused names take no memory.
  readonly #coordinators = new WeakValues<Coordinator>();
  #tickets = 0;

  static of(backend: Backend, clock: Clock): Session {
    let ofBackend = sessions.get(backend);
    if (ofBackend === undefined) sessions.set(backend, (ofBackend = new WeakMap<Clock, Session>()));
    let session = ofBackend.get(clock);
    if (session === undefined) ofBackend.set(clock, (session = new Session(backend, clock)));
    return session;
  }

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#client = newClientId(clock.random?.bind(clock));
  }

  newTicketId(permits: number): string {
    this.#tickets += 1;
    return ticketId(this.#client, this.#tickets, permits);
  }

  coordinator(key: SemaphoreKey, options: ResolvedOptions): Coordinator {
    const { limit, ttl, extendEvery, retry, label, replicas } = options;
    const shared = JSON.stringify([key, limit, ttl, extendEvery, retry, label, replicas]);
    let coordinator = this.#coordinators.get(shared);
    if (coordinator === undefined) {
      const call = { key, limit, client: this.#client };
      const inbox = this.#inbox(key.prefix);
      coordinator = new Coordinator(this.#backend, call, options, inbox);
      this.#coordinators.set(shared, coordinator);
    }
    return coordinator;
  }

  /** A ticket was taken from its holder, whichever semaphore's it is. */
  onEnded({ id, reason }: EndedTicket): void {
    for (const coordinator of this.#coordinators.values()) coordinator.lose(id, reason);
  }

  /** A grant that nobody waits for. */
  onUnclaimed(grant: PushedGrant): void {
    for (const coordinator of this.#coordinators.values()) coordinator.onUnclaimed(grant);
  }

  /** Ends the subscription unless somebody still waits. */
  async closeInbox(prefix: string): Promise<void> {
    await this.#inboxes.get(prefix)?.close();
  }

  #inbox(prefix: string): Inbox {
    let inbox = this.#inboxes.get(prefix);
    if (inbox === undefined) {
      inbox = new Inbox(this.#backend, this.#client, prefix, this.#clock, this);
      this.#inboxes.set(prefix, inbox);
    }
    return inbox;
  }
}
