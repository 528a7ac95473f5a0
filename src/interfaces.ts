import type { HandleLostError } from './errors.js';
import type { Handle } from './handle.js';
import type { AcquireOptions, TryAcquireOptions } from './options.js';
import type { Semaphore } from './semaphore.js';
import type { TryUseResult } from './semaphore-types.js';

/** The part of a `Handle` that code with a permit uses. Your fakes can implement it. */
export interface HandleLike
  extends
    AsyncDisposable,
    Pick<Handle, 'id' | 'name' | 'slot' | 'slots' | 'fencingToken' | 'signal'>,
    Pick<Handle, 'held' | 'expiresIn' | 'assertHeld' | 'extend' | 'release' | 'toJSON'> {
  /** As `Handle.on`. */
  on(event: 'lost', listener: (error: HandleLostError) => void): unknown;
}

/** The part of a `Semaphore` that code calls to take permits. Your fakes can implement it. */
export interface SemaphoreLike
  extends
    AsyncDisposable,
    Pick<Semaphore, 'name' | 'limit' | 'inspect' | 'setLimit' | 'addPermits'>,
    Pick<Semaphore, 'setRate' | 'revoke' | 'close'> {
  /** As `Semaphore.acquire`. */
  acquire(options?: number | AcquireOptions): Promise<HandleLike>;
  /** As `Semaphore.tryAcquire`. */
  tryAcquire(options?: TryAcquireOptions): Promise<HandleLike | null>;
  /** As `Semaphore.use`. */
  use<T>(fn: (handle: HandleLike) => T | Promise<T>, options?: number | AcquireOptions): Promise<T>;
  /** As `Semaphore.tryUse`. */
  tryUse<T>(
    fn: (handle: HandleLike) => T | Promise<T>,
    options?: TryAcquireOptions,
  ): Promise<TryUseResult<T>>;
}
