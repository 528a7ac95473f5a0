import type { Budgets, Call, Rate, Reply, SemaphoreKey } from '../backends/backend.js';
import { placeOf } from '../backends/place-of.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import { telemetry } from '../telemetry.js';
import { callTimeout } from '../time/call-timeout.js';
import type { Clock, Instant } from '../time/clock.js';
import type { ServerClock } from '../time/server-clock.js';
import type { BackoffOptions } from '../time/backoff.js';
import type { Bundle } from './batcher.js';
import type { Client } from './client.js';
import { Permits } from './permits.js';
import type { Permit } from './registry.js';
import type { AcquireItem, Caller, ExtendItem, ReleaseItem } from './operations.js';

/** How long an extension of a fresh grant may take: several fit into its claim time. */
const CLAIM_TIMEOUT_MS = CLAIM_TIME_MS / 4;

/** What the options of a semaphore object say of its calls. */
export interface LinkOptions {
  readonly limit: number;
  readonly ttl: number;
  readonly label: string;
  readonly retry: BackoffOptions;
  /** How many requests may wait; undefined: any number. */
  readonly maxWaiting: number | undefined;
  readonly rate: Rate | undefined;
  readonly budgets?: Budgets | undefined;
  readonly groupLimit?: number | undefined;
}

/**
 * One semaphore object towards its backend: what all its calls say, where its items gather, and
 * what the replies say of the limit.
 */
export class SemaphoreLink implements Caller {
  readonly client: Client;
  readonly clock: Clock;
  readonly call: Call;
  readonly place: string;
  readonly ttl: number;
  readonly label: string;
  readonly retry: BackoffOptions;
  readonly maxWaiting: number | undefined;
  readonly rate: Rate | undefined;
  readonly budgets: Budgets | undefined;
  readonly groupLimit: number | undefined;
  /** Semaphores of the same lane share calls. */
  readonly lane: string;
  readonly serverClock: ServerClock;
  /** How long one call may take, in milliseconds. */
  readonly callTimeoutMs: number;
  readonly acquires: Bundle<Caller, AcquireItem>;
  readonly renewals: Bundle<Caller, ExtendItem>;
  /** The first extensions of pushed grants. */
  readonly claims: Bundle<Caller, ExtendItem>;
  readonly releases: Bundle<Caller, ReleaseItem>;
  /** Requests, leases and releases, until no reply or message about them matters. */
  readonly permits: Permits<Permit> = new Permits();
  askAgainAt: number | undefined = undefined;
  #limit: number;
  #otherLimit: number | undefined;
  #onOtherLimit: ((otherLimit: number) => void) | undefined;

  constructor(client: Client, key: SemaphoreKey, options: LinkOptions) {
    const { limit, ttl } = options;
    this.client = client;
    this.clock = client.clock;
    this.call = { key, limit, client: client.name };
    this.place = placeOf(key);
    this.ttl = ttl;
    this.label = options.label;
    this.retry = options.retry;
    this.maxWaiting = options.maxWaiting;
    this.rate = options.rate;
    this.budgets = options.budgets;
    this.groupLimit = options.groupLimit;
    this.lane = client.backend.laneOf?.(key) ?? '';
    this.serverClock = client.serverClock();
    this.callTimeoutMs = callTimeout(ttl);
    this.acquires = client.acquires(this.lane, this.callTimeoutMs).bundleOf(this);
    this.releases = client.releases(this.lane, this.callTimeoutMs).bundleOf(this);
    // Short enough for several tries within a lease, or within the claim time.
    const renewalTimeoutMs = Math.min(this.callTimeoutMs, ttl / 6);
    const claimTimeoutMs = Math.min(renewalTimeoutMs, CLAIM_TIMEOUT_MS);
    this.renewals = client.renewals(this.lane, renewalTimeoutMs).bundleOf(this);
    this.claims = client.renewals(this.lane, claimTimeoutMs).bundleOf(this);
    this.#limit = limit;
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
