import type { Backend, SemaphoreKey } from '../backends/backend.js';
import type { LostReason } from '../errors.js';
import type { BackoffOptions } from '../time/backoff.js';
import type { Clock } from '../time/clock.js';
import type { LeaseTicket } from './lease.js';

/** What a keeper must know of a semaphore object. */
export interface KeptSemaphore {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly key: SemaphoreKey;
  readonly limit: number;
  /** In milliseconds, as the next. */
  readonly ttl: number;
  readonly extendEvery: number;
  readonly retry: BackoffOptions;
}

/** A lease that is to be kept. */
export interface KeepableLease extends LeaseTicket {
  readonly id: string;
  /** Milliseconds for which it is valid now. */
  readonly remaining: number;
  /** The backend says that its ticket is gone. */
  lose(reason: LostReason, cause?: unknown): void;
}

/** A lease that another thread renews. */
export interface KeptLease {
  /** Milliseconds for which it is valid by the last renewal of the keeper; may be negative. */
  readonly left: number;
  /** Why its ticket is gone, as soon as the keeper knows it. */
  readonly loss: LostReason | undefined;
  /** The keeper has given it up. */
  readonly isOver: boolean;
  /** Resolves with false when the keeper cannot renew it now. */
  extend(): Promise<boolean>;
  /** It is renewed no more, from this moment on. */
  stop(): void;
}

/** Renews the leases of one semaphore object. Undefined: it cannot. */
export type Keep = (lease: KeepableLease) => KeptLease | undefined;

/** Renews leases outside of the thread that holds them. */
export interface LeaseKeeper {
  /** @throws {TypeError} for a semaphore whose leases it cannot renew */
  open(semaphore: KeptSemaphore): Keep;
}
