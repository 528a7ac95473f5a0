import { DEADLINE_OPTIONS, type OptionNames } from '../arguments/known-options.js';
import { SEMAPHORE_OPTIONS } from '../arguments/known-options.js';
import { integer } from '../arguments/numbers.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';
import { backendOf } from '../clients.js';
import { BackendError, ClosedError } from '../errors.js';
import { type MutexOptions, type SemaphoreTarget, withLimitOne } from '../mutex.js';
import type { DeadlineOptions, ResolvedOptions } from '../options.js';
import { resolveAcquire, resolveOptions } from '../options.js';
import type { SemaphoreWarning } from '../semaphore-types.js';
import { KeyedHandle } from './composite-handle.js';
import { stripeOf } from './key-stripes.js';
import { KeyedLocks } from './keyed-locks.js';
import { OrderedAcquisition, type Part } from './ordered-acquisition.js';

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

/** A problem to look at; the keyed mutex keeps working, or still tries to. */
export interface KeyedMutexWarning extends Omit<SemaphoreWarning, 'code'> {
  /** What it is, for programs: see the event. */
  readonly code: 'STRIPES_MISMATCH' | SemaphoreWarning['code'];
}

/** Every event and what its listeners get. */
export interface KeyedMutexEvents {
  /**
   * `STRIPES_MISMATCH`: another number of stripes was used under the same name and prefix within a
   * day, and such keyed mutexes do not exclude each other. Looked up when the first keys are held,
   * and every twelve hours. Emitted once. Not on a quorum.
   * The others are as of a `KeyedSemaphore`.
   */
  warning: [warning: KeyedMutexWarning];
}

const OPTIONS: OptionNames = new Set([...SEMAPHORE_OPTIONS, 'name', 'stripes']);

/**
 * How often to look whether others use another number of stripes, in milliseconds: their note stays
 * for a day.
 */
const HALF_DAY = 43_200_000;

/** One key, or several; duplicates count once. */
export type Keys = string | readonly string[];

/**
 * A mutex for each key. Many keys are taken in one global order, all or none within one deadline,
 * so callers that name them in different orders never deadlock. A holder of one key that asks for
 * another in a second call may: take all of them in one call.
 */
export class KeyedMutex extends KeyedLocks<
  Keys,
  KeyedHandle,
  KeyedAcquireOptions,
  [],
  KeyedMutexEvents
> {
  readonly #resolved: ResolvedOptions;
  readonly #stripes: number | undefined;
  #stripesNotedAt = -Infinity;
  #otherStripes: number | undefined;

  /**
   * @param target as for a `Semaphore`
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, options: KeyedMutexOptions = {}) {
    const resolved = resolveOptions(withLimitOne(options), backendOf(target).clock, OPTIONS);
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
   * @throws {AcquireTimeoutError} when one did not come free in time; what was taken is given back
   *   at once
   * @throws {QueueFullError} when `maxWaiting` requests wait for one of the keys already
   * @throws {BackendError} when trying again cannot help: wrong type under a key, no rights, out of
   *   memory
   * @throws {TypeError | RangeError} for wrong options, and for keys that are no strings, or too
   *   long
   * @throws {ClosedError} when the keyed mutex is closed, or is closed meanwhile
   * @throws the signal's own reason when it aborts
   */
  async acquire(keys: Keys, options?: number | KeyedAcquireOptions): Promise<KeyedHandle> {
    const { timeout, signal } = resolveAcquire(options, DEADLINE_OPTIONS);
    const partOf = this.#partsOf(keys);
    const terms = { clock: this.#resolved.clock, timeout, signal };
    const acquisition = new OrderedAcquisition(partOf.values(), terms);
    await acquisition.acquire().catch(this.#asOneClosed);
    return this.#handle(partOf, acquisition);
  }

  /**
   * One try: null when one of the keys is not free, or others wait for it. What was taken is then
   * back already.
   * @throws {TypeError | RangeError} for keys that are no strings, or too long
   * @throws {ClosedError} when the keyed mutex is closed
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async tryAcquire(keys: Keys): Promise<KeyedHandle | null> {
    const partOf = this.#partsOf(keys);
    const terms = { clock: this.#resolved.clock, timeout: 0 };
    const acquisition = new OrderedAcquisition(partOf.values(), terms);
    const acquired = await acquisition.tryAcquire().catch(this.#asOneClosed);
    if (acquired) return this.#handle(partOf, acquisition);
    if (acquisition.lastError === undefined) return null;
    const what = `acquiring keys of ${JSON.stringify(this.name)} failed`;
    throw new BackendError(what, acquisition.lastError, { name: this.name });
  }

  #partsOf(keys: unknown): Map<string, Part> {
    this.assertOpen();
    const list: unknown = typeof keys === 'string' ? [keys] : keys;
    if (!Array.isArray(list)) {
      throw typeError(`keys: expected a string or an array of strings, got ${formatValue(keys)}`);
    }
    const stripes = this.#stripes;
    const parts = new Map<string, Part>();
    const partOf = new Map<string, Part>();
    for (const key of list as readonly string[]) {
      let name = this.nameOf('keys', key);
      if (stripes !== undefined) name = `striped:${this.name}:${stripes}:${stripeOf(key, stripes)}`;
      const part = parts.get(name) ?? { semaphore: this.semaphore(name, 1), permits: 1 };
      parts.set(name, part);
      partOf.set(key, part);
    }
    return partOf;
  }

  #handle(partOf: ReadonlyMap<string, Part>, { parts }: OrderedAcquisition): KeyedHandle {
    if (partOf.size > 0) void this.#compareStripes();
    return new KeyedHandle(this.name, partOf, parts);
  }

  async #compareStripes(): Promise<void> {
    const own = this.#stripes ?? 0;
    const now = this.#resolved.clock.monotonic();
    if (now - this.#stripesNotedAt > HALF_DAY) {
      this.#stripesNotedAt = now;
      const key = { prefix: this.#resolved.prefix, name: `keyed:${this.name}` };
      try {
        const noted = await backendOf(this.target).noteStripes?.(key, own);
        this.#otherStripes = noted?.find((stripes) => stripes !== own);
      } catch {
        // The keys are held all the same.
        this.#otherStripes = undefined;
      }
    }
    if (this.#otherStripes === undefined) return;
    const [mine, others] = [this.#stripes ?? 'no', this.#otherStripes || 'none'];
    const message = `keyed mutex ${JSON.stringify(this.name)} is used with ${mine} stripes here and ${others} elsewhere: the two do not exclude each other`;
    this.report({ code: 'STRIPES_MISMATCH', message });
  }

  /** An acquisition that ends because this was closed says so, and not which key it waited for. */
  readonly #asOneClosed = (error: unknown): never => {
    throw error instanceof ClosedError ? new ClosedError(this.name) : error;
  };
}
