import type * as port from '../backends/backend.js';
import { newClientId, parseTicketId, ticketId } from '../backends/ticket-id.js';
import type { Clock } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Batchers } from './operations.js';
import type { Permit, SemaphoreLink } from './semaphore-link.js';
import { WeakGroups } from './weak-groups.js';

/**
 * How long a subscription outlives its last waiter, in milliseconds, so that the next one need not
 * open another.
 */
const LINGER_MS = 10_000;

/** The same while it is connecting, which may keep the process alive. */
const CONNECTING_LINGER_MS = 1000;

/**
 * Between a subscription that does not come back by itself and the next one, in milliseconds.
 * Waiters poll meanwhile, so this may be long: a user without the right to subscribe must cost the
 * server little.
 */
const RESUBSCRIBE_DELAY_MS = 5000;

/** By prefix. Their semaphores, their subscriptions and their timers keep them alive. */
const ofBackend = new WeakMap<port.Backend, WeakMap<Clock, WeakGroups<Client>>>();

/**
 * This process as one backend knows it under one prefix: its name, its calls, which travel together
 * whatever semaphores they are of, and its semaphore objects, among which a grant finds its request
 * by id. Grants are pushed by one subscription, which is made when a request first waits, and gone
 * some time after the last waiter.
 */
export class Client implements port.GrantListener {
  readonly name: string;
  readonly backend: port.Backend;
  readonly clock: Clock;
  readonly #prefix: string;
  /** By lane and time limit. Their semaphores keep them alive: on a cluster each has its own. */
  readonly batchers: WeakGroups<Batchers> = new WeakGroups();
  /** Its users, its handles and its timers keep a semaphore alive: unused names take no memory. */
  readonly semaphores: WeakGroups<SemaphoreLink> = new WeakGroups();
  /** Of the ids that it made. */
  #lastNumber = 0;
  /** Settles when strays were searched for in all semaphores that wanted it. */
  #searched: Promise<void> = Promise.resolve();
  readonly #waiting = new Set<SemaphoreLink>();
  /** Semaphores with requests that wait for a push. */
  readonly waiting: ReadonlySet<SemaphoreLink> = this.#waiting;
  #listening: port.Listening | undefined;
  /** While requests wait it subscribes again, else it closes. */
  readonly #alarm: Wakeup;
  /** By the monotonic clock: when a subscription may be opened again. */
  #opensAt = -Infinity;
  /** Settles when all subscriptions that were given up have ended. */
  #ended: Promise<void> = Promise.resolve();
  /** The subscription is confirmed: grants are pushed. Written here alone. */
  healthy = false;
  #isInterrupted = false;

  static of(backend: port.Backend, clock: Clock, prefix: string): Client {
    const byClock = ofBackend.get(backend) ?? new WeakMap<Clock, WeakGroups<Client>>();
    const clients = byClock.get(clock) ?? new WeakGroups();
    ofBackend.set(backend, byClock.set(clock, clients));
    return clients.one(prefix, () => new Client(backend, clock, prefix));
  }

  constructor(backend: port.Backend, clock: Clock, prefix: string) {
    this.name = newClientId(clock.random?.bind(clock));
    this.backend = backend;
    this.clock = clock;
    this.#prefix = prefix;
    this.#alarm = new Wakeup(clock, false, () => {
      if (this.waiting.size > 0) this.#listen();
      else void this.close();
    });
  }

  isRetryable(error: unknown): boolean {
    return this.backend.isRetryable?.(error) ?? true;
  }

  newId(permits: number): string {
    this.#lastNumber += 1;
    return ticketId(this.name, this.#lastNumber, permits);
  }

  find(name: string, id: string): Permit | undefined {
    return this.semaphores.of(name).flatMap(({ permits }) => permits.get(id) ?? [])[0];
  }

  /** Requests of `link` wait for a push: opens the subscription if it is not open. */
  add(link: SemaphoreLink): void {
    if (this.waiting.has(link)) return;
    this.#alarm.stop();
    this.#waiting.add(link);
    this.#listen();
  }

  remove(link: SemaphoreLink): void {
    if (!this.#waiting.delete(link) || this.waiting.size > 0) return;
    if (this.#listening === undefined) return void this.close();
    const now = this.clock.monotonic();
    this.#alarm.wakeBy(now + (this.healthy ? LINGER_MS : CONNECTING_LINGER_MS), now);
  }

  /** Ends the subscription, unless requests wait. */
  async close(): Promise<void> {
    if (this.waiting.size > 0) return;
    this.#alarm.stop();
    this.healthy = false;
    this.#giveUp();
    await this.#ended;
  }

  #listen(): void {
    if (this.#listening !== undefined) return;
    const now = this.clock.monotonic();
    if (now < this.#opensAt) return this.#alarm.wakeBy(this.#opensAt, now);
    try {
      this.#listening = this.backend.listen?.(this.name, this.#prefix, this);
    } catch {
      this.onFailed();
    }
  }

  #giveUp(): void {
    if (this.#listening === undefined) return;
    // Without their results: each result would keep the results before it.
    this.#ended = Promise.all([this.#ended, this.#listening.close()]).then(() => undefined);
    this.#listening = undefined;
  }

  /**
   * Grants that were pushed, or came with a reply. Strays were given up, or were served before the
   * server lost data: they are given back.
   */
  onGrants(grants: readonly port.PushedGrant[], name: string): void {
    for (const grant of grants) {
      const permit = this.find(name, grant.id);
      if (permit === undefined) this.#giveBack(name, grant.id);
      else permit.takeGrant?.(grant);
    }
  }

  onEnded(ended: readonly port.EndedTicket[], name: string): void {
    for (const { id } of ended) this.find(name, id)?.onReportedGone?.();
  }

  onTurn(turn: port.PushedTurn, name: string): void {
    const permit = this.find(name, turn.id);
    if (permit?.isPending === true) permit.link.tryAt(turn.at);
  }

  onHealth(healthy: boolean): void {
    const wasHealthy = this.healthy;
    this.healthy = healthy && this.#listening !== undefined;
    if (!healthy && this.waiting.size === 0) return void this.close();
    // Each notification makes waiters poll as often as at first: not worth it without news.
    if (!this.healthy && !wasHealthy) return;
    // Also the semaphores whose calls are under way: a grant may have been pushed meanwhile.
    for (const link of this.semaphores.all().filter(({ requests }) => requests > 0)) {
      link.onGrantMissed();
      // In one semaphore after the other: after an interruption the server has enough to do. After
      // a search that fails each stray shows when it is granted, too.
      const search = () => this.#giveStraysBack(link);
      if (this.healthy && this.#isInterrupted)
        this.#searched = this.#searched.then(search).catch(() => undefined);
    }
    this.#isInterrupted = !this.healthy;
  }

  onFailed(): void {
    this.#opensAt = this.clock.monotonic() + RESUBSCRIBE_DELAY_MS;
    this.onHealth(false);
    this.#giveUp();
    if (this.waiting.size > 0) this.#listen();
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and
   * tickets that were given back. No other process can know that they are strays.
   */
  async #giveStraysBack({ admin, name, releases }: SemaphoreLink): Promise<void> {
    const inspecting = admin.inspect();
    releases.drainAfter(inspecting);
    const { holders, waiters } = await inspecting;
    for (const { id } of [...holders, ...waiters])
      if (this.find(name, id) === undefined) this.#giveBack(name, id);
  }

  /** Ids of adopted tickets were not made here. */
  #giveBack(name: string, id: string): void {
    const { number = Infinity, permits = 1 } = parseTicketId(id) ?? {};
    const isOwn = number <= this.#lastNumber && id === ticketId(this.name, number, permits);
    if (isOwn) this.semaphores.of(name)[0]?.releases.giveBack(id);
  }
}
