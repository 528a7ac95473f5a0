import { checkOptions, SEMAPHORE_OPTIONS } from '../arguments/known-options.js';
import { quoted } from '../arguments/shown.js';
import { backendOf } from '../clients.js';
import type { Handle } from '../handle.js';
import type { SemaphoreTarget } from '../mutex.js';
import type { AcquireOptions, SemaphoreOptions, TryAcquireOptions } from '../options.js';
import { checkLimit, resolveOptions } from '../arguments/resolve.js';
import type { Semaphore, SemaphoreWarning } from '../semaphore.js';
import { KeyedLocks } from './keyed-locks.js';

/** The options of a semaphore, with another `limit`, and `name`. */
export interface KeyedSemaphoreOptions extends Omit<SemaphoreOptions, 'limit'> {
  /**
   * How many permits each key has: an integer, minimum 1; with a `rate` also Infinity. A function
   * gets the key at each call for that key. It must give the same answer for a key in all
   * processes, and it must not be async.
   */
  readonly limit: number | ((key: string) => number);
  /**
   * Keyed semaphores of the same name and prefix share their keys: 1 to 128 bytes without a colon.
   * Default `default`.
   */
  readonly name?: string | undefined;
}

/**
 * A problem that needs your attention. The keyed semaphore keeps working, or keeps trying. The
 * message names the semaphore of the key.
 */
export type KeyedSemaphoreWarning = SemaphoreWarning;

/** Every event and what its listeners get. */
export interface KeyedSemaphoreEvents {
  /**
   * The codes of a semaphore, without `EVICTION` and `NODE_SET`. `BACKEND_UNREACHABLE`: once per
   * outage, whatever the number of keys. `LIMIT_MISMATCH`: once, with the first key that has
   * another limit elsewhere.
   */
  warning: [warning: KeyedSemaphoreWarning];
}

/**
 * A semaphore for each key: per tenant, per host. Each key has its own limit and its own queue;
 * unused keys take no memory in the process. The semaphore of a key is named `keyed:<name>:<key>`:
 * a `Semaphore`, a `KeyedMutex` or the command `redsem` reaches it by that name.
 */
export class KeyedSemaphore extends KeyedLocks<
  string,
  Handle,
  AcquireOptions,
  KeyedSemaphoreEvents,
  [options?: TryAcquireOptions]
> {
  readonly #limit: number | ((key: string) => number);
  readonly #hasRate: boolean;

  /**
   * @param target as for a `Semaphore`
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, options: KeyedSemaphoreOptions) {
    checkOptions(options, `${SEMAPHORE_OPTIONS} name`);
    const { name, limit, ...others } = options;
    const checked = { ...others, limit: typeof limit === 'function' ? 1 : limit };
    resolveOptions(checked, backendOf(target).clock);
    super(target, name, others);
    this.#limit = limit;
    this.#hasRate = options.rate !== undefined;
  }

  /**
   * Waits for a permit of the key, in the order of `Semaphore.acquire` among its requests.
   * @param key 1 to 512 bytes, less `keyed:<name>:`
   * @param options milliseconds to wait at most (default: no limit; 0: one try), or
   *   `AcquireOptions`
   * @throws {TypeError | RangeError} for a wrong key or option, and when the limit function gives
   *   no integer of 1 or more
   * @throws what the limit function throws
   * @throws as `acquire` of a semaphore
   */
  async acquire(key: string, options?: number | AcquireOptions): Promise<Handle> {
    return this.#semaphoreOf(key).acquire(options);
  }

  /**
   * Tries once, in one round trip. Gives null when no permit of the key is free, or when other
   * requests wait for it.
   * @throws as `acquire` for key and limit; otherwise as `tryAcquire` of a semaphore
   */
  async tryAcquire(key: string, options?: TryAcquireOptions): Promise<Handle | null> {
    return this.#semaphoreOf(key).tryAcquire(options);
  }

  #semaphoreOf(key: string): Semaphore {
    const name = this.nameOf('key', key);
    const limit: unknown = typeof this.#limit === 'function' ? this.#limit(key) : this.#limit;
    // The check below refuses an async function, and then its rejection is no news.
    if (limit instanceof Promise) limit.catch(() => undefined);
    return this.semaphore(name, checkLimit(`limit of ${quoted(key)}`, limit, this.#hasRate));
  }
}
