import type { SemaphoreOptions } from './options.js';
import { Semaphore } from './semaphore.js';
import { formatValue } from './arguments/shown.js';
import { checkRange, checkType, isObject, rangeError } from './arguments/validation.js';

/** What `new Semaphore` takes as its target. */
export type SemaphoreTarget = ConstructorParameters<typeof Semaphore>[0];

/** The options of a semaphore, without `limit`: a mutex has the limit 1. */
export type MutexOptions = Omit<SemaphoreOptions, 'limit'>;

/**
 * A semaphore of one permit: at most one holder at once, in every process that uses the same name
 * on the same backend. A resource that refuses late writes needs only the `fencingToken`, because
 * the slot is always 0.
 */
export class Mutex extends Semaphore {
  /**
   * @param target a connected `redis` or `ioredis` client (also of a cluster, sentinel or pool), or
   *   a `Backend`
   * @param name any text of 1 to 512 bytes; a `Semaphore` of the same name has the same permit
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, name: string, options: MutexOptions = {}) {
    super(target, name, withLimitOne(options));
  }

  /**
   * 0 pauses the mutex: requests wait. 1 stores the limit 1, also after a semaphore of the same
   * name has stored another limit. Undefined removes the stored limit.
   * @throws {RangeError} for any other limit, because a mutex has one permit
   * @throws as `Semaphore.setLimit`
   */
  override async setLimit(limit: number | undefined): Promise<void> {
    const fits = limit === undefined || limit === 0 || limit === 1;
    checkRange(fits, 'limit', '0, 1 or undefined of a mutex', formatValue(limit));
    await super.setLimit(limit);
  }

  /**
   * A mutex has one permit: use `setLimit`.
   * @throws {RangeError} always
   */
  override addPermits(delta: number): Promise<number> {
    const message = `delta: expected setLimit(0) or setLimit(1) of a mutex, got ${formatValue(delta)}`;
    return Promise.reject(rangeError(message));
  }
}

/** The options of a semaphore of one permit. */
export function withLimitOne(options: MutexOptions): SemaphoreOptions {
  checkType(isObject(options), 'options', 'an object', options);
  const { limit }: Partial<SemaphoreOptions> = options;
  const expected = 'none, because a mutex has one permit';
  checkRange(limit === undefined, 'limit', expected, formatValue(limit));
  return { ...options, limit: 1 };
}
