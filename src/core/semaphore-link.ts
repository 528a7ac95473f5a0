import type { Backend, Call, Reply, SemaphoreKey } from '../backends/backend.js';
import type { Keep } from '../backends/lease-keeper.js';
import { BackendError, ClosedError, type HeldHere } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import { telemetry } from '../telemetry.js';
import { awaitAtMost } from '../time/call-timeout.js';
import { type Clock, type Instant, nextTick } from '../time/clock.js';
import { inSlices, SLICE } from '../time/in-slices.js';
import type { ServerClock } from '../time/server-clock.js';
import { Wakeup } from '../time/shared-timer.js';
import { Admin } from './admin.js';
import type { Bundle, Owner } from './batcher.js';
import { Client } from './client.js';
import { type Batchers, batchersOf } from './operations.js';
import { type Release, Releases } from './release.js';
import { type AcquireParams, Request } from './request.js';
import type { Lease } from './lease.js';
import { Waiters } from './waiters.js';

/** How long one call may take before it counts as failed, in milliseconds, or the ttl if less. */
const LONGEST_CALL_MS = 5000;

/** The options of a semaphore object that concern its calls. */
export type LinkOptions = Pick<
  ResolvedOptions,
  'limit' | 'ttl' | 'extendEvery' | 'label' | 'retry' | 'clock'
> &
  Partial<ResolvedOptions>;

/**
 * A request, a lease, or a ticket that is given back. The last kind gets nothing but the replies to
 * its calls.
 */
export type Permit = Release & Partial<Omit<Request, keyof Release>>;

/**
 * The permits of one semaphore object, and all that they share: the call that each of their calls
 * extends, the bundles in which they gather, the limit by the last reply, and the two timers that
 * wake them.
 */
export class SemaphoreLink implements Owner {
  readonly backend: Backend;
  readonly client: Client;
  readonly clock: Clock;
  readonly options: LinkOptions;
  readonly call: Call;
  readonly key: SemaphoreKey;
  readonly name: string;
  /** Semaphores of the same lane share calls. */
  readonly lane: string;
  readonly serverClock: ServerClock;
  /** How long one call may take, in milliseconds. */
  readonly callTimeoutMs: number;
  /** Between two extensions of a lease, in milliseconds. */
  readonly extendEvery: number;
  /** Kept alive by their semaphores. */
  readonly batchers: Batchers;
  readonly toAcquire: Bundle<SemaphoreLink, Request> = { owner: this, items: [] };
  readonly toExtend: Bundle<SemaphoreLink, Lease> = { owner: this, items: [] };
  readonly toRelease: Bundle<SemaphoreLink, Release> = { owner: this, items: [] };
  readonly releases: Releases;
  readonly waiters: Waiters;
  readonly admin: Admin;
  /** Has another thread renew a lease. */
  readonly keep: Keep | undefined;
  /** Requests, leases and releases, until no reply or message about them matters. */
  readonly permits: Map<string, Permit> = new Map();
  /**
   * Wakes callers who have waited for long enough. It keeps the process alive, a lease does not.
   */
  readonly deadlines: Wakeup;
  /** Wakes leases. It is not set while nothing is held. */
  readonly beats: Wakeup;
  /** Server time at which a request should ask again; undefined: no such time is known. */
  askAgainAt: number | undefined = undefined;
  /** That time is a turn, until which the process's waiter lease lasts. */
  isTurn = false;
  /** The limit that counts, as of the last reply. Written here alone. */
  limit: number;
  /** Of another process, while none is stored: the first that was seen is news. */
  otherLimit: number | undefined;
  #onOtherLimit: ((otherLimit: number) => void) | undefined;
  #callers = 0;
  #held = 0;
  /** Ends the drain of a close that has one. */
  endDrain: (() => void) | undefined;

  constructor(backend: Backend, key: SemaphoreKey, options: LinkOptions) {
    const { limit, ttl, extendEvery, clock } = options;
    const client = Client.of(backend, clock, key.prefix);
    this.backend = backend;
    this.client = client;
    this.clock = clock;
    this.options = options;
    this.call = { key, limit, client: client.name };
    this.key = key;
    this.name = key.name;
    this.lane = backend.laneOf?.(key) ?? key.prefix;
    const callTimeoutMs = Math.min(ttl, LONGEST_CALL_MS);
    this.callTimeoutMs = callTimeoutMs;
    this.extendEvery = extendEvery === 0 ? Infinity : extendEvery;
    const make = () => batchersOf(client, callTimeoutMs);
    this.batchers = client.batchers.one(`${callTimeoutMs} ${this.lane}`, make);
    this.serverClock = this.batchers.serverClock;
    this.keep = options.keeper?.open({ ...options, key }, backend, clock);
    this.limit = limit;
    this.deadlines = new Wakeup(clock, true, () => this.#wake(this.deadlines, 'endIfOverdue'));
    this.beats = new Wakeup(clock, false, () => this.#wake(this.beats, 'beat'));
    this.releases = new Releases(this);
    this.waiters = new Waiters(this);
    this.admin = new Admin(this);
    client.semaphores.add(key.name, this);
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
  acquire(params: AcquireParams): Promise<Lease | undefined> {
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
    if (this.permits.get(permit.id) === permit) this.permits.delete(permit.id);
  }

  /** A caller waits for an answer, until that monotonic time. */
  onAsked(deadline: number, now: number): void {
    this.#callers += 1;
    this.deadlines.wakeBy(deadline, now);
  }

  onAnswered(): void {
    this.#callers -= 1;
    if (this.#callers === 0) this.deadlines.stop();
  }

  get #oldest(): Permit | undefined {
    for (const permit of this.permits.values()) if (permit.stage === 'held') return permit;
    return undefined;
  }

  /**
   * How many permits are held through all objects of this semaphore, and for how long. Undefined:
   * none.
   */
  get heldHere(): HeldHere | undefined {
    const links = this.client.semaphores.of(this.name).filter((link) => link.#held > 0);
    const since = Math.min(...links.map((link) => link.#oldest?.heldSince ?? Infinity));
    const link = links.find((each) => each.#oldest?.heldSince === since);
    if (link === undefined) return undefined;
    const permits = links.reduce((sum, each) => sum + each.#held, 0);
    const { limit, options } = link;
    return { permits, limit, heldFor: this.clock.monotonic() - since, label: options.label };
  }

  onHeld(permits: number): void {
    this.#held += permits;
  }

  onHeldNoMore(permits: number): void {
    this.#held -= permits;
    if (this.#held > 0) return;
    this.beats.stop();
    this.endDrain?.();
  }

  observe(reply: Reply, sent: Instant): void {
    this.serverClock.observe(sent, reply.serverTime);
    this.noteLimit(reply.storedLimit);
    if (reply.otherLimit !== undefined) this.#noteOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.client.onGrants(reply.grants, this.name);
  }

  onReplyLost(): void {
    for (const { waiters } of this.client.semaphores.of(this.name)) {
      waiters.isFailing = true;
      waiters.schedule();
    }
  }

  /** `stored`: by `setLimit`, if it was. */
  noteLimit(stored: number | undefined): void {
    this.limit = stored ?? this.call.limit;
  }

  /** `what`: the verb of the failed call. */
  failure(what: string, cause: unknown): BackendError {
    const { key, name } = this;
    return new BackendError(`${what} a permit of ${JSON.stringify(name)} failed`, cause, key);
  }

  /**
   * Calls `listener` once when a process is seen to use another limit and none is stored, at once
   * if that is so already.
   */
  onceOtherLimit(listener: (otherLimit: number) => void): void {
    if (this.otherLimit === undefined) this.#onOtherLimit = listener;
    else listener(this.otherLimit);
  }

  #noteOtherLimit(otherLimit: number): void {
    if (this.otherLimit !== undefined) return;
    this.otherLimit = otherLimit;
    const { name, call } = this;
    telemetry.mismatch.publish({ name, limit: call.limit, otherLimit });
    this.#onOtherLimit?.(otherLimit);
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
    await Promise.all([abandoned, this.#loseAllAfter(drain)]);
    // At the same time, so that a server that hangs holds it up once.
    await Promise.all([this.client.close(), this.releases.drained()]);
    // The timer that all semaphores share ends a tick after its last user.
    await new Promise<void>((resolve) => nextTick(resolve));
  }

  /** The first leases at once, if there is no time, or nothing is held. */
  async #loseAllAfter(drain: number): Promise<void> {
    if (drain > 0 && this.#held > 0) {
      const nothingHeld = new Promise<void>((resolve) => (this.endDrain = resolve));
      await awaitAtMost(this.clock, drain, nothingHeld);
    }
    await inSlices([...this.permits.values()], (permit) => permit.lose?.('closed'));
  }
}
