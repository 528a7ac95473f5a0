import type {
  Backend,
  EndedTicket,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../backends/backend.js';
import { placeOf } from '../backends/place-of.js';
import type { LostReason } from '../errors.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';
import { isRetryable, retryUntilDeadline } from './retry.js';
import { OrphanSearch } from './orphan-search.js';
import type { TicketNumbers } from './ticket-numbers.js';
import { WeakGroups } from './weak-groups.js';

/**
 * How many tickets and requests that nobody wants are given back at a time: anybody may send
 * grants.
 */
const MAX_ORPHANS = 1000;

/**
 * How long a look for such may take, and giving them back with all its tries, in milliseconds; and
 * the pauses between tries.
 */
const ORPHAN_TIMEOUT_MS = 5000;
const ORPHAN_RETRY = { min: 10, max: 200, factor: 2, jitter: true };

/** The requests and tickets of one semaphore object. */
export interface GrantReader {
  /** False when it has no request or ticket of this id. */
  onGrant(grant: PushedGrant): boolean;
  /** A message says when the rate will allow a request. */
  onTurn(turn: PushedTurn): void;
  /** A message says that a ticket was taken away. */
  onEnded(id: string): void;
  /** A ticket was taken away, as the backend has confirmed. */
  lose(id: string, reason: LostReason): void;
  wants(id: string): boolean;
  /** A grant may have been lost on its way: its requests are asked for again soon. */
  askSoon(): void;
}

/**
 * Hands grants to the semaphore objects of this process that asked for them. What nobody wants is
 * given back.
 */
export class GrantDispatch {
  readonly #backend: Backend;
  readonly #numbers: TicketNumbers;
  readonly #clock: Clock;
  readonly #search: OrphanSearch;
  // Its semaphores, its handles and its timers keep a reader alive: unused names take no memory.
  readonly #readers = new WeakGroups<GrantReader>();
  /** Ids that are being given back because nobody wants them. */
  readonly #orphans = new Set<string>();

  constructor(backend: Backend, numbers: TicketNumbers, clock: Clock) {
    this.#backend = backend;
    this.#numbers = numbers;
    this.#clock = clock;
    this.#search = new OrphanSearch(clock, (key, limit) => this.#releaseOrphans(key, limit));
  }

  register(key: SemaphoreKey, reader: GrantReader): void {
    this.#readers.add(placeOf(key), reader);
  }

  /** Unwanted are those whose requests were given up, or served before the server lost data. */
  onGrants(key: SemaphoreKey, grants: readonly PushedGrant[]): void {
    const readers = this.#readers.of(placeOf(key));
    const unwanted = grants.filter((grant) => !readers.some((reader) => reader.onGrant(grant)));
    this.#giveBack(key, unwanted);
  }

  onEnded(key: SemaphoreKey, ended: readonly EndedTicket[]): void {
    const readers = this.#readers.of(placeOf(key));
    for (const { id } of ended) for (const reader of readers) reader.onEnded(id);
  }

  onTurn(key: SemaphoreKey, turn: PushedTurn): void {
    for (const reader of this.#readers.of(placeOf(key))) reader.onTurn(turn);
  }

  lose(key: SemaphoreKey, id: string, reason: LostReason): void {
    for (const reader of this.#readers.of(placeOf(key))) reader.lose(id, reason);
  }

  askSoon(key: SemaphoreKey): void {
    for (const reader of this.#readers.of(placeOf(key))) reader.askSoon();
  }

  /** See `#releaseOrphans`: one semaphore after the other. */
  searchOrphans(key: SemaphoreKey, limit: number): void {
    this.#search.add(key, limit);
  }

  /**
   * After an interruption the server may have older data, with requests that were served since and
   * tickets that were given back: no other process can know that these are not wanted.
   */
  async #releaseOrphans(key: SemaphoreKey, limit: number): Promise<void> {
    try {
      const call = this.#backend.inspect({ key, limit });
      const { holders, waiters } = await withTimeout(this.#clock, ORPHAN_TIMEOUT_MS, call);
      const readers = this.#readers.of(placeOf(key));
      const known = [...holders, ...waiters];
      const unwanted = known.filter(({ id }) => !readers.some((reader) => reader.wants(id)));
      this.#giveBack(key, unwanted);
    } catch {
      // Each comes to light when it is granted.
    }
  }

  #giveBack(key: SemaphoreKey, unwanted: readonly { readonly id: string }[]): void {
    const ids = unwanted.map(({ id }) => id);
    const ours = ids.filter((id) => this.#numbers.made(id) && !this.#orphans.has(id));
    const some = ours.slice(0, MAX_ORPHANS - this.#orphans.size);
    for (const id of some) this.#orphans.add(id);
    if (some.length > 0) void this.#release(key, some);
  }

  async #release(key: SemaphoreKey, ids: readonly string[]): Promise<void> {
    const options = {
      clock: this.#clock,
      retry: ORPHAN_RETRY,
      limit: ORPHAN_TIMEOUT_MS,
      isRetryable: (error: unknown) => isRetryable(this.#backend, error),
    };
    const call = { key, limit: 0, client: this.#numbers.client, ids };
    try {
      const replies = await retryUntilDeadline(options, 'releasing', () =>
        this.#backend.release([call]),
      );
      for (const { grants } of replies) this.onGrants(key, grants);
    } catch {
      // It expires by the end of its claim time, or comes to light again.
    } finally {
      for (const id of ids) this.#orphans.delete(id);
    }
  }
}
