import type { Call, Reply, SemaphoreKey } from '../backends/backend.js';
import type { Keep } from '../backends/lease-keeper.js';
import { placeOf } from '../backends/place-of.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import type { HeldHere } from '../errors.js';
import { telemetry } from '../telemetry.js';
import { awaitAtMost, callTimeout } from '../time/call-timeout.js';
import type { Clock, Instant } from '../time/clock.js';
import { SLICE } from '../time/in-slices.js';
import type { ServerClock } from '../time/server-clock.js';
import { Wakeup } from '../time/shared-timer.js';
import type { Bundle, Owner } from './batcher.js';
import type { Client } from './client.js';
import type { AcquireItem, Batchers, ExtendItem, LinkOptions, ReleaseItem } from './operations.js';
import type { Permit } from './registry.js';

/** How long an extension of a fresh grant may take: several fit into its claim time. */
const CLAIM_TIMEOUT_MS = CLAIM_TIME_MS / 4;

/**
 * What the permits of one semaphore object share: what all their calls say, where they gather, what
 * the replies say of the limit, and the two timers that wake them.
 */
export class SemaphoreLink implements Owner {
  readonly client: Client;
  readonly clock: Clock;
  readonly options: LinkOptions;
  readonly call: Call;
  readonly place: string;
  /** Semaphores of the same lane share calls. */
  readonly lane: string;
  readonly serverClock: ServerClock;
  /** How long one call may take, in milliseconds. */
  readonly callTimeoutMs: number;
  /** Between two extensions of a lease, in milliseconds. */
  readonly extendEvery: number;
  /** Kept alive by their semaphores. */
  readonly batchers: readonly Batchers[];
  readonly acquires: Bundle<SemaphoreLink, AcquireItem>;
  readonly renewals: Bundle<SemaphoreLink, ExtendItem>;
  /** The first extensions of pushed grants. */
  readonly claims: Bundle<SemaphoreLink, ExtendItem>;
  readonly releases: Bundle<SemaphoreLink, ReleaseItem>;
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
  #limit: number;
  #otherLimit: number | undefined;
  #onOtherLimit: ((otherLimit: number) => void) | undefined;
  #callers = 0;
  #held = 0;
  #permits = 0;
  #onNothingHeld: (() => void) | undefined;

  constructor(client: Client, key: SemaphoreKey, options: LinkOptions, keep?: Keep) {
    const { limit, ttl, extendEvery } = options;
    this.client = client;
    this.clock = client.clock;
    this.options = options;
    this.call = { key, limit, client: client.name };
    this.place = placeOf(key);
    this.lane = client.backend.laneOf?.(key) ?? '';
    this.serverClock = client.serverClock();
    this.callTimeoutMs = callTimeout(ttl);
    this.extendEvery = extendEvery === 0 ? Infinity : extendEvery;
    // Short enough for several tries within a lease, or within the claim time.
    const renewalTimeoutMs = Math.min(this.callTimeoutMs, ttl / 6);
    const claimTimeoutMs = Math.min(renewalTimeoutMs, CLAIM_TIMEOUT_MS);
    const calls = client.batchers(this.lane, this.callTimeoutMs);
    const renewals = client.batchers(this.lane, renewalTimeoutMs);
    const claims = client.batchers(this.lane, claimTimeoutMs);
    this.batchers = [calls, renewals, claims];
    this.acquires = calls.acquires.bundleOf(this);
    this.releases = calls.releases.bundleOf(this);
    this.renewals = renewals.renewals.bundleOf(this);
    this.claims = claims.renewals.bundleOf(this);
    this.keep = keep;
    this.#limit = limit;
    this.deadlines = new Wakeup(this.clock, true, () => this.#wake('endIfOverdue'));
    this.beats = new Wakeup(this.clock, false, () => this.#wake('beat'));
  }

  get key(): SemaphoreKey {
    return this.call.key;
  }

  get name(): string {
    return this.call.key.name;
  }

  /** The limit that counts, as of the last reply. */
  get limit(): number {
    return this.#limit;
  }

  #wake(how: 'endIfOverdue' | 'beat'): void {
    const now = this.clock.monotonic();
    let ended = 0;
    for (const permit of this.permits.values())
      if (permit[how]?.(now, ended < SLICE) === true) ended += 1;
  }

  know(permit: Permit): void {
    this.permits.set(permit.id, permit);
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

  /** What its holders have, and for how long. Undefined: nothing is held. */
  get heldHere(): HeldHere | undefined {
    if (this.#permits === 0) return undefined;
    const now = this.clock.monotonic();
    let since = now;
    for (const { stage, heldSince = now } of this.permits.values()) {
      if (stage !== 'held') continue;
      since = heldSince;
      break;
    }
    const { label } = this.options;
    return { permits: this.#permits, limit: this.#limit, heldFor: now - since, label };
  }

  onHeld(permits: number): void {
    this.#held += 1;
    this.#permits += permits;
  }

  onHeldNoMore(permits: number): void {
    this.#held -= 1;
    this.#permits -= permits;
    if (this.#held > 0) return;
    this.beats.stop();
    this.endDrain();
  }

  /** Resolves when nothing is held any more, or after `duration` milliseconds, or by `endDrain`. */
  async drain(duration: number): Promise<void> {
    if (this.#held === 0) return;
    const nothingHeld = new Promise<void>((resolve) => (this.#onNothingHeld = resolve));
    await awaitAtMost(this.clock, duration, nothingHeld);
  }

  endDrain(): void {
    this.#onNothingHeld?.();
  }

  observe(reply: Reply, sent: Instant): void {
    this.serverClock.observe(sent, reply.serverTime);
    this.noteLimit(reply.storedLimit);
    if (reply.otherLimit !== undefined) this.#noteOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.client.registry.onGrants(this.key, reply.grants);
  }

  onReplyLost(): void {
    this.client.registry.askSoon(this.place);
  }

  /** `stored`: by `setLimit`, if it was. */
  noteLimit(stored: number | undefined): void {
    this.#limit = stored ?? this.call.limit;
  }

  /**
   * Calls `listener` once when a process is seen to use another limit and none is stored, at once
   * if that is so already.
   */
  onceOtherLimit(listener: (otherLimit: number) => void): void {
    if (this.#otherLimit === undefined) this.#onOtherLimit = listener;
    else listener(this.#otherLimit);
  }

  #noteOtherLimit(otherLimit: number): void {
    if (this.#otherLimit !== undefined) return;
    this.#otherLimit = otherLimit;
    const { name, call } = this;
    if (telemetry.mismatch.active) {
      telemetry.mismatch.publish({ name, limit: call.limit, otherLimit });
    }
    this.#onOtherLimit?.(otherLimit);
  }

  /** A limit is stored now: another limit that is seen after that is news again. */
  forgetOtherLimit(): void {
    this.#otherLimit = undefined;
  }
}
