import type { Clock, Instant } from '../time/clock.js';
import { elapsedSince } from '../time/clock.js';
import type { LostReason } from '../errors.js';
import { HandleLostError } from '../errors.js';
import type { Linked } from './linked-list.js';
import type { ValidityWindow } from '../time/server-clock.js';
import { certaintyLeft } from '../time/server-clock.js';

type LeaseState =
  | { readonly kind: 'held' }
  | { readonly kind: 'lost'; readonly error: HandleLostError; readonly at: number }
  | { readonly kind: 'released' };

export interface LeaseTicket {
  readonly slots: readonly number[];
  readonly fencingToken: number;
}

/** Who must know when a lease is over. */
export interface LeaseKeeper {
  onLeaseEnd(lease: Lease): void;
}

/** The semaphore object that a lease was acquired by. */
export interface LeaseHolder {
  /** An extension was confirmed. */
  onConfirmed(): void;
  /** Releasing failed, and the caller does not get the error. */
  onReleaseFailed(error: unknown): void;
}

/** Told of the one change that a holder does not make itself. */
export interface LeaseObserver {
  onLost(error: HandleLostError): void;
  /** Asked to observe through a WeakRef from now on, if nobody but its own holder would miss it. */
  weaken(forget: (lease: Lease) => void): void;
}

/** What all leases of one engine have in common. */
export interface LeaseTerms {
  readonly name: string;
  readonly ttl: number;
  readonly clock: Clock;
  readonly keeper: LeaseKeeper;
}

const HELD: LeaseState = { kind: 'held' };
const RELEASED: LeaseState = { kind: 'released' };

/**
 * One held ticket and for how long it is certain. ValidityWindow is counted from the moment before the last
 * confirmed call was *sent*: its reply may be late. A safety margin of 1 % + 2 ms is taken off for clocks that
 * run apart, as Redlock does (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
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
  /** Whether an extension is under way. */
  extending = false;
  /** Why the last extension failed, if it did. */
  lastError: unknown = undefined;
  /** Extensions that failed in a row. */
  failures = 0;
  /** Its neighbours among those that a heartbeat keeps. */
  previous: Lease | undefined = undefined;
  next: Lease | undefined = undefined;
  list: object | undefined = undefined;
  /** The semaphore object that it was acquired by. */
  holder: LeaseHolder | undefined = undefined;
  readonly #clock: Clock;
  #since: Instant;
  #span: number;
  #state: LeaseState = HELD;
  #observer: LeaseObserver | WeakRef<LeaseObserver> | undefined;
  readonly #keeper: LeaseKeeper;

  constructor(terms: LeaseTerms, id: string, ticket: LeaseTicket, certainty: ValidityWindow) {
    this.name = terms.name;
    this.id = id;
    this.slots = ticket.slots;
    this.fencingToken = ticket.fencingToken;
    this.ttl = terms.ttl;
    this.heldSince = certainty.since.monotonic;
    this.#clock = terms.clock;
    this.#keeper = terms.keeper;
    this.#since = certainty.since;
    this.#span = certainty.span;
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** Milliseconds of certainty left, read off the clocks now: right even when no timer could run. */
  get remaining(): number {
    if (this.#state.kind !== 'held') return 0;
    return Math.max(0, certaintyLeft(this.#since, this.#span, this.#clock));
  }

  /**
   * What a holder is told: as `remaining`, but a lease that is found over is lost from then on. Otherwise a wall clock that is
   * set back would bring it back. Its observer is told on the next tick, for this is called from getters.
   */
  look(): number {
    const { remaining } = this;
    if (remaining > 0 || this.#state.kind !== 'held') return remaining;
    const error = this.#markLost('expired', this.lastError);
    process.nextTick(() => this.#tell(error));
    return 0;
  }

  /** Milliseconds since its ticket was gone, or can have expired; 0 while neither is so, and after `close()`. */
  get overrun(): number {
    const state = this.#state;
    const reason = state.kind === 'lost' ? state.error.reason : 'expired';
    if (reason === 'closed') return 0;
    if (reason === 'expired')
      return Math.max(0, elapsedSince(this.#since, this.#clock) - this.#span);
    return state.kind === 'lost' ? this.#clock.monotonic() - state.at : 0;
  }

  observe(observer: LeaseObserver | WeakRef<LeaseObserver>): void {
    this.#observer = observer;
  }

  /** See `LeaseObserver.weaken`. */
  weaken(forget: (lease: Lease) => void): void {
    if (!(this.#observer instanceof WeakRef)) this.#observer?.weaken(forget);
  }

  /** An extension that was sent at `sent` succeeded. A late reply never shortens what is known. */
  confirm(sent: Instant): void {
    this.claimed = true;
    this.failures = 0;
    this.lastError = undefined;
    this.holder?.onConfirmed();
    const left = this.#span - elapsedSince(this.#since, this.#clock);
    if (this.ttl - elapsedSince(sent, this.#clock) <= left) return;
    this.#since = sent;
    this.#span = this.ttl;
  }

  /**
   * A ticket of its id was seen with this token. A later one means that a call which was late has been granted anew: the
   * ticket that is held was lost with the server's data, and its slots may be somebody else's. Tells whether it is so.
   */
  supersede(fencingToken: number): boolean {
    if (fencingToken <= this.fencingToken || this.#state.kind !== 'held') return false;
    this.lose('missing');
    return true;
  }

  lose(reason: LostReason, cause?: unknown): void {
    if (this.#state.kind === 'held') this.#tell(this.#markLost(reason, cause));
  }

  /** True when it was held until now, also when its certainty had just run out unnoticed. */
  endByRelease(): boolean {
    // Nor is a loss told to it that was found a moment ago: its holder has stopped.
    this.#observer = undefined;
    if (this.#state.kind !== 'held') return false;
    this.#state = RELEASED;
    this.#end();
    return true;
  }

  /** What `assertHeld` throws, once it is over. */
  lossError(): HandleLostError {
    if (this.#state.kind === 'lost') return this.#state.error;
    return new HandleLostError(this.name, this.id, 'closed');
  }

  #markLost(reason: LostReason, cause: unknown): HandleLostError {
    const error = new HandleLostError(this.name, this.id, reason, cause);
    this.#state = { kind: 'lost', error, at: this.#clock.monotonic() };
    this.#end();
    return error;
  }

  #tell(error: HandleLostError): void {
    const observer = this.#observer instanceof WeakRef ? this.#observer.deref() : this.#observer;
    observer?.onLost(error);
  }

  #end(): void {
    this.#keeper.onLeaseEnd(this);
  }
}
