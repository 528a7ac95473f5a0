import type { HandleLostError } from './errors.js';
import type { Handle } from './handle.js';
import type { AcquireOptions, TryAcquireOptions } from './options.js';
import type { Semaphore } from './semaphore.js';
import type { TryUseResult } from './semaphore-types.js';

/** The data and methods of a handle that do not name its class. */
type HandleMembers = Pick<
  Handle,
  'id' | 'name' | 'slot' | 'slots' | 'fencingToken' | 'signal' | 'held' | 'expiresIn'
> &
  Pick<Handle, 'assertHeld' | 'extend' | 'release' | 'toJSON'>;

/** What code that works under a permit needs of its `Handle`: your fakes can implement it. */
export interface HandleLike extends HandleMembers, AsyncDisposable {
  /** As `Handle.on`. */
  on(event: 'lost', listener: (error: HandleLostError) => void): unknown;
}

type SemaphoreMembers = Pick<
  Semaphore,
  'name' | 'limit' | 'inspect' | 'setLimit' | 'addPermits' | 'setRate' | 'revoke' | 'close'
>;

/** What code that takes permits needs of a `Semaphore`: your fakes can implement it. */
export interface SemaphoreLike extends SemaphoreMembers, AsyncDisposable {
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
