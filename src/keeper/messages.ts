import type { KeptSemaphore, KeptTicket } from '../backends/lease-keeper.js';
import type { LostReason } from '../errors.js';

/** `place`: of the lease in the shared memory. */
export interface KeepOrder {
  readonly do: 'keep';
  readonly place: number;
  /** The semaphore object's number. */
  readonly number: number;
  readonly semaphore: KeptSemaphore;
  readonly ticket: KeptTicket;
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
