import type { Clock, Instant } from '../time/clock.js';
import { elapsedSince } from '../time/clock.js';
import type { LaneItem } from '../calling/lane.js';
import type { LostReason } from '../errors.js';
import { HandleLostError } from '../errors.js';
import type { Linked } from './linked-list.js';
import type { ValidityWindow } from '../time/server-clock.js';
import { validityLeft } from '../time/server-clock.js';

type LeaseState =
  | { readonly kind: 'held' }
  | { readonly kind: 'lost'; readonly error: HandleLostError; readonly at: number }
  | { readonly kind: 'released' };

export interface LeaseTicket {
  readonly slots: readonly number[];
  readonly fencingToken: number;
}

/** Gets notice of what becomes of a lease. */
export interface LeaseObserver {
  onLost(error: HandleLostError): void;
  /** Its release has ended. */
  onReleased(): void;
  /** Asked to observe through a WeakRef from now on, if nobody but its own holder would miss it. */
  holdWeakly(onCollected: (lease: Lease) => void): void;
}

/** What all leases of one semaphore object have in common. */
export interface LeaseTerms {
  readonly name: string;
  readonly ttl: number;
  readonly clock: Clock;
}

const HELD: LeaseState = { kind: 'held' };
const RELEASED: LeaseState = { kind: 'released' };

/**
 * One held ticket and for how long it is valid. That time counts from the moment before the last
 * confirmed call was *sent*: its reply may be late. A safety margin of 1 % + 2 ms is taken off
 * for clocks that run apart, as Redlock does
 * (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
 */
export class Lease implements Linked<Lease> {
  readonly name: string;
  readonly id: string;
  readonly slots: readonly number[];
  readonly fencingToken: number;
  readonly ttl: number;
  /** Monotonic time since which it is held, or a little earlier. */
  readonly heldSince: number;
  /** Monotonic time of the next extension. */
  dueAt: number = Infinity;
  /** False while its ticket has its claim time only: until it is first extended. */
  claimed = true;
  /** The last extension, until it is answered. */
  extension: LaneItem | undefined = undefined;
  /** Why the last extension failed, if it did. */
  lastError: unknown = undefined;
  /** How many extensions were made. */
  extensions = 0;
  /** Extensions that failed in a row. */
  failures = 0;
  /** Its neighbours among those of its renewer. */
  previous: Lease | undefined = undefined;
  next: Lease | undefined = undefined;
  list: object | undefined = undefined;
  /** A message says that its ticket is gone: the next extension shows whether that is true. */
  reportedGone = false;
  readonly #clock: Clock;
  #validFrom: Instant;
  #validFor: number;
  #state: LeaseState = HELD;
  #ended = false;
  #observer: LeaseObserver | WeakRef<LeaseObserver> | undefined;

  constructor(terms: LeaseTerms, id: string, ticket: LeaseTicket, window: ValidityWindow) {
    this.name = terms.name;
    this.id = id;
    this.slots = ticket.slots;
    this.fencingToken = ticket.fencingToken;
    this.ttl = terms.ttl;
    this.heldSince = window.from.monotonic;
    this.#clock = terms.clock;
    this.#validFrom = window.from;
    this.#validFor = window.duration;
  }

  get state(): LeaseState {
    return this.#state;
  }

  /**
   * Milliseconds for which it is still valid, read off the clocks now: right even when no timer
   * could run.
   */
  get remaining(): number {
    if (this.#state.kind !== 'held') return 0;
    return Math.max(0, validityLeft(this.#validFrom, this.#validFor, this.#clock));
  }

  /**
   * Milliseconds since its ticket was gone, or can have expired; 0 while neither is so, and after
   * `close()`.
   */
  get overrun(): number {
    const state = this.#state;
    const reason = state.kind === 'lost' ? state.error.reason : 'expired';
    if (reason === 'closed') return 0;
    if (reason === 'expired')
      return Math.max(0, elapsedSince(this.#validFrom, this.#clock) - this.#validFor);
    return state.kind === 'lost' ? this.#clock.monotonic() - state.at : 0;
  }

  observe(observer: LeaseObserver | WeakRef<LeaseObserver>): void {
    this.#observer = observer;
  }

  /** See `LeaseObserver.holdWeakly`. */
  holdWeakly(onCollected: (lease: Lease) => void): void {
    if (!(this.#observer instanceof WeakRef)) this.#observer?.holdWeakly(onCollected);
  }

  /** An extension that was sent at `sent` succeeded. A late reply never shortens what is known. */
  confirm(sent: Instant): void {
    this.claimed = true;
    this.failures = 0;
    this.lastError = undefined;
    const left = this.#validFor - elapsedSince(this.#validFrom, this.#clock);
    if (this.ttl - elapsedSince(sent, this.#clock) <= left) return;
    this.#validFrom = sent;
    this.#validFor = this.ttl;
  }

  /** From now on it is lost, whatever the clocks say later. Undefined when it was over already. */
  markLost(reason: LostReason, cause?: unknown): HandleLostError | undefined {
    if (this.#state.kind !== 'held') return undefined;
    const error = new HandleLostError(this.name, this.id, reason, cause);
    this.#state = { kind: 'lost', error, at: this.#clock.monotonic() };
    return error;
  }

  notifyLost(error: HandleLostError): void {
    if (!this.#ended) this.#getObserver()?.onLost(error);
  }

  notifyReleased(): void {
    this.#getObserver()?.onReleased();
  }

  #getObserver(): LeaseObserver | undefined {
    return this.#observer instanceof WeakRef ? this.#observer.deref() : this.#observer;
  }

  /** Its holder has stopped, and gets no notice of a loss that was found a moment ago. */
  markReleased(): void {
    this.#ended = true;
    if (this.#state.kind === 'held') this.#state = RELEASED;
  }

  /** What `assertHeld` throws, once it is over. */
  lossError(): HandleLostError {
    if (this.#state.kind === 'lost') return this.#state.error;
    return new HandleLostError(this.name, this.id, 'released');
  }
}
