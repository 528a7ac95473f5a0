import type { Call, Rate, Reply, SemaphoreKey } from '../backends/backend.js';
import { telemetry } from '../telemetry.js';
import type { Instant } from '../time/clock.js';
import type { ServerClock } from '../time/server-clock.js';
import type { DamagedNames } from './damaged-names.js';
import type { GrantDispatch } from './grant-dispatch.js';

/** What the options of a semaphore object say of its calls. */
export interface TermsOptions {
  readonly ttl: number;
  readonly label: string;
  /** How many requests may wait; undefined: any number. */
  readonly maxWaiting: number | undefined;
  readonly rate: Rate | undefined;
}

interface CallTermsParts extends TermsOptions {
  readonly call: Call;
  /** Semaphores of the same lane share calls. */
  readonly lane: string;
  readonly serverClock: ServerClock;
  readonly damaged: DamagedNames;
  readonly dispatch: GrantDispatch;
}

/** What all calls of one semaphore object say, and what their replies say of its limit. */
export class CallTerms {
  readonly call: Call;
  readonly ttl: number;
  readonly label: string;
  readonly maxWaiting: number | undefined;
  readonly rate: Rate | undefined;
  readonly lane: string;
  readonly serverClock: ServerClock;
  readonly #damaged: DamagedNames;
  readonly #dispatch: GrantDispatch;
  #limit: number;
  #otherLimit: number | undefined;
  #onOtherLimit: ((otherLimit: number) => void) | undefined;

  constructor(parts: CallTermsParts) {
    this.call = parts.call;
    this.ttl = parts.ttl;
    this.label = parts.label;
    this.maxWaiting = parts.maxWaiting;
    this.rate = parts.rate;
    this.lane = parts.lane;
    this.serverClock = parts.serverClock;
    this.#damaged = parts.damaged;
    this.#dispatch = parts.dispatch;
    this.#limit = parts.call.limit;
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

  /** Takes what a reply says beside its answers. `sent`: the moment before the call left. */
  observe(sent: Instant, reply: Reply): void {
    this.serverClock.observe(sent, reply.serverTime);
    this.noteLimit(reply.storedLimit);
    if (reply.otherLimit !== undefined) this.#noteOtherLimit(reply.otherLimit);
    if (reply.grants.length > 0) this.#dispatch.onGrants(this.key, reply.grants);
  }

  /** A call has failed, and with its reply the grants that it had for this process. */
  onReplyLost(): void {
    this.#dispatch.askSoon(this.key);
  }

  /** `stored`: by `setLimit`, if it was. */
  noteLimit(stored: number | undefined): void {
    this.#limit = stored ?? this.call.limit;
  }

  /**
   * Calls `listener` once when somebody is seen to use another limit and none is stored, at once if
   * that is so already.
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

  /** A limit is stored now: one that is seen after that is news again. */
  forgetOtherLimit(): void {
    this.#otherLimit = undefined;
  }

  isAlone(now: number): boolean {
    return this.#damaged.has(this.key, now);
  }

  /** A call for it alone was refused: it must not fail those of others. */
  keepAlone(now: number): void {
    this.#damaged.add(this.key, now);
  }
}
