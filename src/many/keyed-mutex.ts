import { DEADLINE_OPTIONS, SEMAPHORE_OPTIONS } from '../arguments/known-options.js';
import { checkType, integer } from '../arguments/validation.js';
import { backendOf } from '../clients.js';
import { BackendError, ClosedError } from '../errors.js';
import { type MutexOptions, type SemaphoreTarget, withLimitOne } from '../mutex.js';
import type { DeadlineOptions } from '../options.js';
import { resolveAcquire, type ResolvedOptions, resolveOptions } from '../arguments/resolve.js';
import type { SemaphoreWarning } from '../semaphore.js';
import { KeyedHandle } from './composite-handle.js';
import { stripeOf } from './key-stripes.js';
import { KeyedLocks } from './keyed-locks.js';
import { OrderedAcquisition, type Share } from './ordered-acquisition.js';

/** The options of a `KeyedMutex`. */
export interface KeyedMutexOptions extends MutexOptions {
  /**
   * Keyed mutexes of the same name and prefix share their keys: 1 to 128 bytes without a colon.
   * Default `default`.
   */
  readonly name?: string | undefined;
  /**
   * Hashes the keys onto this number of locks, so that any number of keys costs a bounded number of
   * Redis keys. Minimum 1; must be the same wherever the keyed mutex is used, see
   * `KeyedMutexEvents`. Default: each key has its own lock.
   */
  readonly stripes?: number | undefined;
}

/** How long to wait for all keys together. */
export type KeyedAcquireOptions = DeadlineOptions;

/** A problem that needs your attention. The keyed mutex keeps working, or keeps trying. */
export interface KeyedMutexWarning extends Omit<SemaphoreWarning, 'code'> {
  /** The kind of problem, for programs: see the event. */
  readonly code: 'STRIPES_MISMATCH' | SemaphoreWarning['code'];
}

/** Every event and what its listeners get. */
export interface KeyedMutexEvents {
  /**
   * `STRIPES_MISMATCH`: another number of stripes was used under the same name and prefix within a
   * day, and such keyed mutexes do not exclude each other. redsem looks for it when the first keys
   * are held, and every twelve hours. Emitted once. Not on a quorum.
   * The other codes are the codes of a `KeyedSemaphore`.
   */
  warning: [warning: KeyedMutexWarning];
}

/**
 * How often redsem looks for another number of stripes, in milliseconds: a note stays for a day.
 */
const HALF_DAY = 43_200_000;

/** One key, or several; duplicates count once. */
export type Keys = string | readonly string[];

/**
 * A mutex for each key. A call waits for many keys in one global order, all or none within one
 * deadline, so callers that name keys in different orders never deadlock. A holder of a key that
 * asks for another key in a second call may deadlock: take all keys in one call.
 */
export class KeyedMutex extends KeyedLocks<Keys, KeyedHandle, DeadlineOptions, KeyedMutexEvents> {
  readonly #resolved: ResolvedOptions;
  readonly #stripes: number | undefined;
  #stripesNotedAt = -Infinity;

  /**
   * @param target as for a `Semaphore`
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, options: KeyedMutexOptions = {}) {
    const known = `${SEMAPHORE_OPTIONS} name stripes`;
    const resolved = resolveOptions(withLimitOne(options), backendOf(target).clock, known);
    const { name, stripes, ...others } = options;
    super(target, name, others);
    if (stripes !== undefined) integer('stripes', stripes, 1);
    this.#resolved = resolved;
    this.#stripes = stripes;
  }

  /**
   * Waits for all keys. The handle of an empty list holds nothing.
   * @param options milliseconds to wait at most for all together (default: no limit; 0: one try),
   *   or an object
   * @throws {AcquireTimeoutError} when a key did not come free in time; redsem gives back at once
   *   the permits that it took
   * @throws {QueueFullError} when `maxWaiting` requests wait for one of the keys already
   * @throws {BackendError} when a retry cannot help: wrong type under a key, no rights, out of
   *   memory
   * @throws {TypeError | RangeError} for wrong options, and for keys that are no strings, or too
   *   long
   * @throws {ClosedError} when the keyed mutex is closed, or is closed meanwhile
   * @throws the signal's reason when it aborts
   */
  async acquire(keys: Keys, options?: number | KeyedAcquireOptions): Promise<KeyedHandle> {
    const { timeout, signal } = resolveAcquire(options, DEADLINE_OPTIONS);
    const shareOf = this.#sharesOf(keys);
    const deadline = { clock: this.#resolved.clock, timeout, signal };
    const acquisition = new OrderedAcquisition(shareOf.values(), deadline);
    await acquisition.acquire().catch(this.#asOneClosed);
    return this.#handle(shareOf, acquisition);
  }

  /**
   * Tries once. Gives null when a key is not free, or when other requests wait for it. By then
   * redsem has given back the keys that it took.
   * @throws {TypeError | RangeError} for keys that are no strings, or too long
   * @throws {ClosedError} when the keyed mutex is closed
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async tryAcquire(keys: Keys): Promise<KeyedHandle | null> {
    const shareOf = this.#sharesOf(keys);
    const deadline = { clock: this.#resolved.clock, timeout: 0 };
    const acquisition = new OrderedAcquisition(shareOf.values(), deadline);
    const acquired = await acquisition.tryAcquire().catch(this.#asOneClosed);
    if (acquired) return this.#handle(shareOf, acquisition);
    if (acquisition.lastError === undefined) return null;
    const what = `acquiring keys of ${JSON.stringify(this.name)} failed`;
    throw new BackendError(what, acquisition.lastError, { name: this.name });
  }

  /** By key: keys of one stripe have the same share. */
  #sharesOf(keys: unknown): Map<string, Share> {
    this.assertOpen();
    const list: unknown = typeof keys === 'string' ? [keys] : keys;
    checkType(Array.isArray(list), 'keys', 'a string or an array of strings', keys);
    const stripes = this.#stripes;
    const shares = new Map<string, Share>();
    const shareOf = new Map<string, Share>();
    for (const key of list as readonly string[]) {
      let name = this.nameOf('keys', key);
      if (stripes !== undefined) name = `striped:${this.name}:${stripes}:${stripeOf(key, stripes)}`;
      const share = shares.get(name) ?? { semaphore: this.semaphore(name, 1), permits: 1 };
      shares.set(name, share);
      shareOf.set(key, share);
    }
    return shareOf;
  }

  #handle(shareOf: ReadonlyMap<string, Share>, { shares }: OrderedAcquisition): KeyedHandle {
    if (shareOf.size > 0) void this.#compareStripes();
    return new KeyedHandle(this.name, shareOf, shares);
  }

  async #compareStripes(): Promise<void> {
    const { clock, prefix } = this.#resolved;
    const now = clock.monotonic();
    if (now - this.#stripesNotedAt <= HALF_DAY) return;
    this.#stripesNotedAt = now;
    const own = this.#stripes ?? 0;
    const key = { prefix, name: `keyed:${this.name}` };
    // If it fails, the caller holds its keys all the same.
    const noted = await backendOf(this.target)
      .noteStripes?.(key, own)
      .catch(() => []);
    const other = noted?.find((stripes) => stripes !== own);
    if (other === undefined) return;
    const message = `keyed mutex ${JSON.stringify(this.name)} is used with ${own || 'no'} stripes here and ${other || 'none'} elsewhere: the two do not exclude each other`;
    // A listener may come later.
    if (!this.report({ code: 'STRIPES_MISMATCH', message })) this.#stripesNotedAt = -Infinity;
  }

  /**
   * The error names the keyed mutex that was closed, and not the key that the caller waited for.
   */
  readonly #asOneClosed = (error: unknown): never => {
    throw error instanceof ClosedError ? new ClosedError(this.name) : error;
  };
}
