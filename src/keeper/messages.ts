import type { SemaphoreKey } from '../backends/backend.js';
import type { LostReason } from '../errors.js';
import type { BackoffOptions } from '../time/backoff.js';

/** A semaphore object of the holders' thread, as the keeper's thread calls for it. */
export interface SemaphoreToKeep {
  readonly key: SemaphoreKey;
  readonly limit: number;
  readonly ttl: number;
  readonly extendEvery: number;
  readonly retry: BackoffOptions;
}

/** A ticket of such a semaphore object. */
export interface TicketToKeep {
  readonly id: string;
  readonly slots: readonly number[];
  readonly fencingToken: number;
}

/** `place`: of the lease in the shared memory. */
export interface KeepOrder {
  readonly do: 'keep';
  readonly place: number;
  /** The semaphore object's number. */
  readonly number: number;
  readonly semaphore: SemaphoreToKeep;
  readonly ticket: TicketToKeep;
}

/** From the thread of the holders to that of the keeper, in the order in which they were made. */
export type Order =
  | KeepOrder
  | { readonly do: 'extend'; readonly place: number; readonly number: number }
  | { readonly do: 'stop'; readonly place: number };

/** From the thread of the keeper to that of the holders. */
export type Notice =
  /** `text`: why a renewal failed; the first of an outage. */
  | { readonly what: 'trouble'; readonly text: string }
  | { readonly what: 'lost'; readonly place: number; readonly reason: LostReason }
  | { readonly what: 'extended'; readonly number: number; readonly done: boolean }
  /** The keeper's thread writes no more about the leases in these places. */
  | { readonly what: 'free'; readonly places: readonly number[] };
