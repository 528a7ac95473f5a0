import { checkOptions, SEMAPHORE_OPTIONS, WAIT_OPTIONS } from '../arguments/known-options.js';
import { checkType, integer, rangeError } from '../arguments/validation.js';
import { MOST_PERMITS } from '../backends/protocol.js';
import { runHolding, type Task } from '../core/use.js';
import type { Handle } from '../handle.js';
import type { SemaphoreTarget } from '../mutex.js';
import type { AcquireOptions, SemaphoreOptions, WaitOptions } from '../options.js';
import { checkFunction, resolveAcquire } from '../arguments/resolve.js';
import { Semaphore, type SemaphoreEvents } from '../semaphore.js';
import { OneSemaphoreLock } from './one-semaphore-lock.js';

/** The options of a `ReadWriteLock`, as for a semaphore. */
export interface ReadWriteLockOptions extends Omit<
  SemaphoreOptions,
  'limit' | 'rate' | 'groupLimit'
> {
  /**
   * Most readers at once: an integer, minimum 1, maximum 16 777 216 (10 000 on several masters).
   * Default 1000. Must be the same in all processes: a writer takes this number of permits, and the
   * semaphore must have no more.
   */
  readonly limit?: number | undefined;
}

/** How long to wait for the lock. */
export type ReadWriteAcquireOptions = WaitOptions;

const DEFAULT_LIMIT = 1000;

/**
 * Many readers or one writer: a reader takes one permit of a semaphore, a writer all of them.
 * Requests are served in order of arrival, so later readers wait behind a waiting writer. Neither
 * readers nor writers starve, unless other requests have a higher `priority`. On several masters
 * there is no queue: there a writer can starve.
 *
 * Not guaranteed: a reader that asks to write in a second call waits for itself, so release first.
 * A holder whose lease is lost may still read or write until it reads its handle; compare the
 * fencing tokens of writers.
 */
export class ReadWriteLock extends OneSemaphoreLock<SemaphoreEvents> {
  /**
   * The semaphore underneath, for `inspect` and `revoke`. A limit that is stored in it breaks the
   * lock.
   */
  readonly semaphore: Semaphore;
  readonly #limit: number;

  /**
   * @param target as for a `Semaphore`
   * @param name 1 to 512 bytes of anything; shared with semaphores: a `Semaphore` of that name has
   *   the same permits
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, name: string, options: ReadWriteLockOptions = {}) {
    checkOptions(options, SEMAPHORE_OPTIONS);
    const { limit = DEFAULT_LIMIT } = options;
    for (const option of ['rate', 'groupLimit']) {
      const value: unknown = Reflect.get(options, option);
      checkType(value === undefined, option, 'none, because a writer takes all permits', value);
    }
    integer('limit', limit, 1, MOST_PERMITS);
    const semaphore = new Semaphore(target, name, { ...options, limit });
    super(semaphore);
    this.semaphore = semaphore;
    this.#limit = limit;
  }

  /**
   * Runs `fn` beside other readers, then releases the lock, also when `fn` throws. Resolves or
   * rejects as `fn` does, see `Semaphore.use`.
   * @param options as `acquireRead`
   * @throws as `acquireRead`, and what `fn` throws
   */
  async read<T>(fn: Task<Handle, T>, options?: number | ReadWriteAcquireOptions): Promise<T> {
    return this.semaphore.use(fn, withPermits(1, options));
  }

  /**
   * Runs `fn` alone, then releases the lock, also when `fn` throws. Resolves or rejects as `fn`
   * does, see `Semaphore.use`.
   * @param options as `acquireWrite`
   * @throws as `acquireWrite`, and what `fn` throws
   */
  async write<T>(fn: Task<Handle, T>, options?: number | ReadWriteAcquireOptions): Promise<T> {
    checkFunction('fn', fn);
    return runHolding(await this.acquireWrite(options), fn);
  }

  /**
   * Waits until no writer holds the lock, and until every earlier `write` has ended.
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or `WaitOptions`
   * @throws as `acquire` of a semaphore
   */
  async acquireRead(options?: number | ReadWriteAcquireOptions): Promise<Handle> {
    return this.semaphore.acquire(withPermits(1, options));
  }

  /**
   * Waits until no reader and no writer holds the lock.
   * @param options as `acquireRead`
   * @throws {RangeError} when another limit is stored in the semaphore (`setLimit`, `redsem limit`)
   * @throws as `acquire` of a semaphore
   */
  async acquireWrite(options?: number | ReadWriteAcquireOptions): Promise<Handle> {
    const handle = await this.semaphore.acquire(withPermits(this.#limit, options));
    const { limit } = this.semaphore;
    if (limit <= this.#limit) return handle;
    // The semaphore has more permits than the lock knows, so readers may hold the others.
    await handle[Symbol.asyncDispose]();
    throw rangeError(
      `limit: expected ${this.#limit} stored for ${JSON.stringify(this.name)}, or none, got ${limit}`,
    );
  }
}

/** The options of the semaphore; `permits` is refused among those of the lock. */
function withPermits(
  permits: number,
  options: number | ReadWriteAcquireOptions | undefined,
): AcquireOptions {
  resolveAcquire(options, WAIT_OPTIONS);
  return typeof options === 'number' ? { timeout: options, permits } : { ...options, permits };
}
