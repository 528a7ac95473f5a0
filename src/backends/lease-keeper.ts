import type { Backend, Call, HolderState } from './backend.js';
import type { LostReason } from '../errors.js';
import type { ResolvedOptions } from '../arguments/resolve.js';
import type { Clock } from '../time/clock.js';

/** A semaphore object as a keeper calls for it. */
export type KeptSemaphore = Pick<Call, 'key'> &
  Pick<ResolvedOptions, 'limit' | 'ttl' | 'extendEvery' | 'retry'>;

export type KeptTicket = Pick<HolderState, 'id' | 'fencingToken'>;

/** A lease that a keeper gets. */
export interface KeepableLease extends KeptTicket {
  /** Of its semaphore. */
  readonly name: string;
  /** Milliseconds for which it is valid now. */
  readonly remaining: number;
  /** The keeper renews it no more. */
  takeBack(): void;
  /** The backend says that its ticket is gone. */
  lose(reason: LostReason): void;
  extend(): Promise<void>;
}

/** A lease that another thread renews, until it is taken back. */
export interface KeptLease {
  /** Milliseconds for which it is valid by the last renewal of the keeper; may be negative. */
  left(): number;
  /** Why its ticket is gone, as soon as the keeper knows it. */
  loss(): LostReason | undefined;
  /** Resolves with false when the keeper cannot renew it now. */
  extend(): Promise<boolean>;
  /** It is renewed no more, from this moment on. */
  stop(): void;
}

/** Renews the leases of one semaphore object. Undefined: it cannot. */
export type Keep = (lease: KeepableLease) => KeptLease | undefined;

/** Renews leases outside of the thread that holds them. */
export interface LeaseKeeper {
  /** @throws {TypeError} for a backend or a clock whose leases it cannot renew */
  open(semaphore: KeptSemaphore, backend: Backend, clock: Clock): Keep;
}
