import type { Backend, Call, Reply, SemaphoreKey } from '../backends/backend.js';
import type { Keep } from '../backends/lease-keeper.js';
import { BackendError, ClosedError, type HeldHere } from '../errors.js';
import type { ResolvedOptions, ResolvedRequest } from '../arguments/resolve.js';
import { telemetry } from '../telemetry.js';
import { backoffDelay } from '../time/backoff.js';
import { awaitAtMost } from '../time/call-timeout.js';
import { type Clock, type Instant, nextTick, randomBy } from '../time/clock.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import { Wakeup } from '../time/shared-timer.js';
import { Admin } from './admin.js';
import type { Owner, Share } from './batcher.js';
import { Client } from './client.js';
import { type Batchers, batchersOf } from './operations.js';
import { type Release, Releases } from './release.js';
import { Request } from './request.js';
import type { Lease } from './lease.js';

/** How long one call may take before it counts as failed, in milliseconds, or the ttl if less. */
const LONGEST_CALL_MS = 5000;

/**
 * Pause between tries while pushes are sure to arrive, in milliseconds: well inside the waiter
 * lease.
 */
const SAFETY_PAUSE_MS = 1500;

/**
 * How long calls must have failed for an outage, in milliseconds: 5 s, and a timer may fire a
 * little earlier than asked.
 */
const OUTAGE_MS = 4998;

/**
 * After how many permits that came and went a new map replaces theirs, beside twice the permits
 * that stay. V8 links each table that a map outgrows to the next: a table that has grown old would
 * keep all later permits in memory until a full collection. With 1000 callers that was a third of
 * all work.
 */
const FORGOTTEN = 100;

export interface OutageListener {
  /**
   * Gets the last error, once per outage.
   * @returns false when no listener gets it: it is then reported again
   */
  onOutage(error: unknown): boolean;
  /** A call has succeeded. */
  onReply(): void;
}

/** The options of a semaphore object that concern its calls. */
export type LinkOptions = Pick<ResolvedOptions, Needed> & Partial<ResolvedOptions>;
type Needed = 'limit' | 'ttl' | 'extendEvery' | 'label' | 'retry' | 'clock';

/**
 * A request, a lease, or a ticket that is given back. The last kind gets nothing but the replies to
 * its calls.
 */
export type Permit = Release & Partial<Omit<Request, keyof Release>>;

/**
 * The permits of one semaphore object, and all that they share: the call that each of their calls
 * extends, the bundles in which they gather, the limit by the last reply, the timers that wake them
 * and the pauses of its requests. A new request leaves at once; requests that were queued, or whose
 * call failed, ask again together, after pauses that grow. A message that needs a call cuts the
 * pause short. Polling is authoritative, pushes only save time: losing every push costs time, never
 * a permit.
 */
export class SemaphoreLink implements Owner {
  readonly backend: Backend;
  readonly client: Client;
  readonly clock: Clock;
  readonly options: LinkOptions;
  readonly call: Call;
  readonly key: SemaphoreKey;
  readonly name: string;
  /** How long one call may take, in milliseconds. */
  readonly callTimeoutMs: number;
  /** Between two extensions of a lease, in milliseconds. */
  readonly extendEvery: number;
  /** Of the semaphores that share calls, which keep them alive. */
  readonly batchers: Batchers;
  readonly toAcquire: Share<SemaphoreLink, Request> = { owner: this, items: [] };
  readonly toExtend: Share<SemaphoreLink, Lease> = { owner: this, items: [] };
  readonly toRelease: Share<SemaphoreLink, Release> = { owner: this, items: [] };
  readonly releases: Releases;
  readonly admin: Admin = new Admin(this);
  /** Has another thread renew a lease. */
  readonly keep: Keep | undefined;
  /** Requests, leases and releases, until no reply or message about them matters. */
  permits: Map<string, Permit> = new Map();
  /** How many permits were forgotten since that map was made. */
  #forgotten = 0;
  /**
   * Wakes callers who have waited for long enough. It keeps the process alive, a lease does not.
   */
  readonly deadlines: Wakeup;
  /** Wakes leases. It is not set while nothing is held. */
  readonly beats: Wakeup;
  /** The limit that counts, as of the last reply: the limit that is stored, else its own. */
  limit: number;
  /** Of another process, while none is stored: the first that was seen. */
  otherLimit: number | undefined;
  /** Undefined without a listener: an outage is then reported to a later one. */
  listener: OutageListener | undefined;
  /**
   * Monotonic time at which a call that failed was sent, or a grant may have been missed: pushes
   * are not relied on until requests that were sent since then are answered. Undefined: they were.
   */
  #unsureSince: number | undefined;
  /** When the last call of its requests left that was answered in time. */
  #served: Instant | undefined;
  /** The listener knows of the outage. */
  #isReported = false;
  /** How many requests wait. Written here alone. */
  requests = 0;
  readonly #nextTry: Wakeup;
  #pauses = 0;
  #callers = 0;
  #held = 0;
  /** Ends the drain of a close that has one. */
  endDrain: (() => void) | undefined;

  constructor(backend: Backend, key: SemaphoreKey, options: LinkOptions) {
    const { limit, ttl, extendEvery, clock } = options;
    this.backend = backend;
    this.client = Client.of(backend, clock, key.prefix);
    this.clock = clock;
    this.options = options;
    this.call = { key, limit, client: this.client.name };
    this.key = key;
    this.name = key.name;
    this.callTimeoutMs = Math.min(ttl, LONGEST_CALL_MS);
    this.extendEvery = extendEvery === 0 ? Infinity : extendEvery;
    const make = () => batchersOf(this.client, this.callTimeoutMs);
    const lane = backend.laneOf?.(key) ?? key.prefix;
    this.batchers = this.client.batchers.one(`${this.callTimeoutMs} ${lane}`, make);
    this.keep = options.keeper?.open({ ...options, key }, backend, clock);
    this.limit = limit;
    this.deadlines = new Wakeup(clock, true, () => this.#wake(this.deadlines, 'endIfOverdue'));
    this.beats = new Wakeup(clock, false, () => this.#wake(this.beats, 'beat'));
    this.releases = new Releases(this);
    this.#nextTry = new Wakeup(clock, true, () => this.#tryAgain());
    this.client.semaphores.add(key.name, this);
  }

  #wake(wakeup: Wakeup, how: 'endIfOverdue' | 'beat'): void {
    const now = this.clock.monotonic();
    let ended = 0;
    for (const permit of this.permits.values()) {
      // The others in the next turn of the event loop.
      if (ended === SLICE) return wakeup.wakeBy(now, now);
      if (permit[how]?.(now) === true) ended += 1;
    }
  }

  /** Undefined when it was refused, which is an answer to `tryAcquire`. */
  acquire(params: ResolvedRequest): Promise<Lease | undefined> {
    const request = new Request(this, params);
    try {
      // A telemetry subscriber may have ended it.
      if (request.isPending) request.ask(request.started);
    } catch (error) {
      // A clock of the user's own has thrown.
      request.abandon(error);
    }
    return request.outcome;
  }

  forget(permit: Permit): void {
    if (this.permits.get(permit.id) !== permit) return;
    this.permits.delete(permit.id);
    this.#forgotten += 1;
    if (this.#forgotten < 2 * this.permits.size + FORGOTTEN) return;
    this.permits = new Map(this.permits);
    this.#forgotten = 0;
  }

  /** A caller waits for an answer, until that monotonic time. */
  onAsked(deadline: number, now: number): void {
    this.#callers += 1;
    // Also without a deadline, so that a lone caller's timer is kept from call to call.
    this.deadlines.wakeBy(Math.min(deadline, now + this.callTimeoutMs), now);
  }

  onAnswered(): void {
    this.#callers -= 1;
    if (this.#callers === 0) this.deadlines.stop();
  }

  get #oldest(): Permit | undefined {
    // Each of many requests that time out together asks for it.
    if (this.#held === 0) return undefined;
    for (const permit of this.permits.values()) if (permit.stage === 'held') return permit;
    return undefined;
  }

  /**
   * How many permits are held through all objects of this semaphore, and for how long. Undefined:
   * none.
   */
  get heldHere(): HeldHere | undefined {
    const held = this.client.semaphores.of(this.name).flatMap((link) => link.#oldest ?? []);
    const [oldest] = held.toSorted((a, b) => (a.heldSince ?? 0) - (b.heldSince ?? 0));
    if (oldest?.heldSince === undefined) return undefined;
    const permits = held.reduce((sum, { link }) => sum + link.#held, 0);
    const { limit, options } = oldest.link;
    const heldFor = this.clock.monotonic() - oldest.heldSince;
    return { permits, limit, heldFor, label: options.label };
  }

  /** `change`: how many permits are held from now on, or are held no more. */
  countHeld(change: number): void {
    this.#held += change;
    if (this.#held > 0) return;
    this.beats.stop();
    this.endDrain?.();
  }

  /** What every reply says. `isServed`: it answers requests in time. */
  observe(reply: Reply, sent: Instant, isServed = false): void {
    const { serverTime, storedLimit, otherLimit, grants } = reply;
    this.batchers.serverClock.observe(sent, serverTime);
    this.limit = storedLimit ?? this.call.limit;
    if (otherLimit !== undefined && this.otherLimit === undefined) {
      this.otherLimit = otherLimit;
      telemetry.mismatch.publish({ name: this.name, limit: this.call.limit, otherLimit });
    }
    if (isServed) this.#onServed(sent);
    if (grants.length > 0) this.client.onGrants(grants, this.name);
  }

  #onServed(sent: Instant): void {
    this.listener?.onReply();
    this.#served = sent;
    if (sent.monotonic < (this.#unsureSince ?? -Infinity)) return;
    this.#unsureSince = undefined;
    this.#isReported = false;
  }

  /** An outage needs no timer: a call without a reply fails, and is then tried again. */
  onReplyLost(error: unknown, sent: Instant): void {
    for (const link of this.client.semaphores.of(this.name)) {
      if (!this.client.waiting.has(link)) continue;
      link.#unsureSince ??= sent.monotonic;
      link.scheduleTry();
      // A single call without a reply is no outage: other calls may have been answered since.
      const since = Math.max(link.#unsureSince, link.#served?.monotonic ?? -Infinity);
      const isOutage = this.clock.monotonic() - since >= OUTAGE_MS;
      if (isOutage && !link.#isReported) link.#isReported = link.listener?.onOutage(error) === true;
    }
  }

  /** `what`: the verb of the failed call. */
  failure(what: string, cause: unknown): BackendError {
    const { key, name } = this;
    return new BackendError(`${what} a permit of ${JSON.stringify(name)} failed`, cause, key);
  }

  /**
   * A grant may have been missed: the requests that wait ask at once. Those whose call is under way
   * ask again soon after its reply, which may be older than the grant.
   */
  onGrantMissed(): void {
    this.#unsureSince = this.clock.monotonic();
    this.#pauses = 0;
    this.#tryAgain();
  }

  /** A request waits from now on, or no more. */
  countRequest(change: 1 | -1): void {
    this.requests += change;
    if (!telemetry.queue.hasSubscribers) return;
    telemetry.queue.publish({ name: this.name, waiting: this.requests });
  }

  /** A request waits no more. */
  onRequestEnded(isGranted: boolean): void {
    this.countRequest(-1);
    if (isGranted || this.requests === 0) this.#pauses = 0;
    if (this.requests > 0) return;
    this.#nextTry.stop();
    // The time until the next call is no outage.
    this.#unsureSince = undefined;
    this.client.remove(this);
  }

  #tryAgain(): void {
    this.#nextTry.stop();
    this.#pauses += 1;
    for (const permit of this.permits.values()) permit.askAgain?.();
  }

  /**
   * Sets the next try, unless an earlier try is set. `askAgainAt`: the server time at which the
   * requests of a reply should ask again. `isTurn`: the process's waiter lease lasts until then.
   */
  scheduleTry(askAgainAt?: number, isTurn = false, asksProgress = false): void {
    const { clock, client, options, batchers } = this;
    const now = clock.monotonic();
    const turnAt = isTurn ? now + batchers.serverClock.delayUntil(askAgainAt ?? 0) : -Infinity;
    // That lease is of all objects of the semaphore in this process.
    if (isTurn)
      for (const { releases } of client.semaphores.of(this.name))
        releases.turnAt = Math.max(releases.turnAt, turnAt);
    if (!client.waiting.has(this)) return;
    if (this.#unsureSince !== undefined || !client.healthy) {
      const pause = backoffDelay(options.retry, this.#pauses, randomBy(clock));
      return this.#nextTry.wakeAround(now + pause, now);
    }
    if (!isTurn || asksProgress) this.#nextTry.wakeAround(now + SAFETY_PAUSE_MS, now);
    // A holder that died wakes no waiter, nor does a rate: they ask again when the next ticket
    // expires, or the rate allows another permit.
    if (askAgainAt !== undefined) this.tryAt(askAgainAt);
  }

  /** The next try comes at that time of the server, or earlier. */
  tryAt(time: number): void {
    const now = this.clock.monotonic();
    this.#nextTry.wakeBy(now + Math.max(1, this.batchers.serverClock.delayUntil(time)), now);
  }

  /**
   * Rejects its waiters, loses the leases that are still held `drain` milliseconds later, and gives
   * everything back. Never rejects.
   */
  async close(drain: number): Promise<void> {
    const reason = (): ClosedError => new ClosedError(this.name);
    this.admin.closing.abort(reason());
    const requests = [...this.permits.values()].filter(({ isPending }) => isPending);
    const abandoned = inSlices(requests, (request) => request.abandon?.(reason()));
    if (drain > 0 && this.#held > 0) {
      const nothingHeld = new Promise<void>((resolve) => (this.endDrain = resolve));
      await awaitAtMost(this.clock, drain, nothingHeld);
    }
    const lost = inSlices([...this.permits.values()], (permit) => permit.lose?.('closed'));
    await Promise.all([abandoned, lost]);
    // Their replies may show tickets to give back. Through a pool of connections, replies to
    // releases may come before them.
    const { acquires, renewals } = this.batchers;
    for (const replies of [...acquires.awaitedBy(this), ...renewals.awaitedBy(this)])
      this.releases.drainAfter(replies);
    // At the same time, so that a server that hangs holds it up once.
    await Promise.all([this.client.close(), this.releases.drained()]);
    // The timer that all semaphores share ends a tick after its last user.
    await new Promise<void>((resolve) => nextTick(resolve));
  }
}
