import { EventEmitter } from 'node:events';
import type { Clock } from '../time/clock.js';
import { BackendError, ClosedError } from '../errors.js';
import type { Handle } from '../handle.js';
import { KeyedHandle } from './keyed-handle.js';
import type { OptionNames } from '../arguments/known-options.js';
import { DEADLINE_OPTIONS, SEMAPHORE_OPTIONS } from '../arguments/known-options.js';
import { LockNames } from './lock-names.js';
import { stripeOf } from './key-stripes.js';
import type { MutexOptions, SemaphoreTarget } from '../mutex.js';
import { withLimitOne } from '../mutex.js';
import type { CloseOptions, DeadlineOptions } from '../options.js';
import { checkFunction, resolveAcquire, resolveOptions } from '../options.js';
import { integer } from '../arguments/numbers.js';
import type { Part } from './ordered-acquisition.js';
import { OrderedAcquisition } from './ordered-acquisition.js';
import { runHolding } from '../core/use.js';
import type { SemaphoreWarning, TryUseResult } from '../semaphore-types.js';
import { backendOf } from '../clients.js';
import { SemaphorePool } from './semaphore-pool.js';

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
export interface KeyedMutexWarning {
  /** What it is, for programs: see the event. */
  readonly code: 'STRIPES_MISMATCH' | SemaphoreWarning['code'];
  /** What it is, for people, and what to do. */
  readonly message: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
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

interface Wanted {
  readonly partOf: ReadonlyMap<string, Part>;
  readonly parts: readonly Part[];
}

/**
 * A mutex for each key. Many keys are taken in one global order, all or none within one deadline,
 * so callers that name them in different orders never deadlock. A holder of one key that asks for
 * another in a second call may: take all of them in one call.
 */
export class KeyedMutex extends EventEmitter<KeyedMutexEvents> {
  /** As given to the constructor. */
  readonly name: string;
  readonly #target: SemaphoreTarget;
  readonly #clock: Clock;
  readonly #names: LockNames;
  readonly #stripes: number | undefined;
  readonly #pool: SemaphorePool;
  readonly #prefix: string;
  #stripesNotedAt = -Infinity;
  #otherStripes: number | undefined;
  #warned = false;

  /**
   * @param target as for a `Semaphore`
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(target: SemaphoreTarget, options: KeyedMutexOptions = {}) {
    super();
    const resolved = resolveOptions(withLimitOne(options), backendOf(target).clock, OPTIONS);
    const { name = 'default', stripes, ...others } = options;
    this.#names = new LockNames(name);
    if (stripes !== undefined) integer('stripes', stripes, 1);
    this.name = name;
    this.#target = target;
    this.#pool = new SemaphorePool(this, target, others);
    this.#clock = resolved.clock;
    this.#prefix = resolved.prefix;
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
    const wanted = this.#wanted(keys);
    const terms = { clock: this.#clock, timeout, signal };
    const acquisition = new OrderedAcquisition(wanted.parts, terms);
    await this.#asOneClosed(acquisition.acquire());
    return this.#handle(wanted, acquisition);
  }

  /**
   * One try: null when one of the keys is not free, or others wait for it. What was taken is then
   * back already.
   * @throws {TypeError | RangeError} for keys that are no strings, or too long
   * @throws {ClosedError} when the keyed mutex is closed
   * @throws {BackendError} when the backend fails or does not answer within min(ttl, 5000) ms
   */
  async tryAcquire(keys: Keys): Promise<KeyedHandle | null> {
    const wanted = this.#wanted(keys);
    const terms = { clock: this.#clock, timeout: 0, signal: undefined };
    const acquisition = new OrderedAcquisition(wanted.parts, terms);
    const { acquired, trouble } = await this.#asOneClosed(acquisition.tryAcquire());
    if (acquired) return this.#handle(wanted, acquisition);
    if (trouble === undefined) return null;
    const what = `acquiring keys of ${JSON.stringify(this.name)} failed`;
    throw new BackendError(what, trouble, { name: this.name });
  }

  /**
   * Runs `fn` with all keys held and releases them whatever happens. Resolves or rejects as `fn`
   * does: a release that fails beside an error of `fn` is that error's `cause` (or `suppressed`),
   * beside a result a `warning`, and changes neither.
   * @param options as `acquire`
   * @throws as `acquire`, and what `fn` throws
   */
  async use<T>(
    keys: Keys,
    fn: (handle: KeyedHandle) => T | Promise<T>,
    options?: number | KeyedAcquireOptions,
  ): Promise<T> {
    checkFunction('fn', fn);
    return runHolding(await this.acquire(keys, options), fn);
  }

  /**
   * Runs `fn` only if all keys are free now: one of many replicas does a job, and the others skip
   * it.
   * @throws as `tryAcquire`, and what `fn` throws
   */
  async tryUse<T>(
    keys: Keys,
    fn: (handle: KeyedHandle) => T | Promise<T>,
  ): Promise<TryUseResult<T>> {
    checkFunction('fn', fn);
    const handle = await this.tryAcquire(keys);
    return handle === null ? { ran: false } : { ran: true, result: await runHolding(handle, fn) };
  }

  /**
   * Takes the keys from its handles at once, also while their work still runs; with `drain`,
   * holders first get that time to release them. Otherwise as `close` of a semaphore.
   * @param options `drain` in milliseconds, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#pool.close(options);
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #wanted(keys: Keys): Wanted {
    this.#pool.assertOpen();
    const checked = this.#names.checkKeys(keys);
    const parts = new Map<string, Part>();
    const partOf = new Map<string, Part>();
    for (const key of checked) {
      const name = this.#nameOf(key);
      const part = parts.get(name) ?? { semaphore: this.#pool.of(name, 1), permits: 1 };
      parts.set(name, part);
      partOf.set(key, part);
    }
    return { partOf, parts: [...parts.values()] };
  }

  #nameOf(key: string): string {
    const stripes = this.#stripes;
    if (stripes === undefined) return this.#names.ofKey(key);
    return this.#names.ofStripe(stripeOf(key, stripes), stripes);
  }

  #handle({ partOf }: Wanted, acquisition: OrderedAcquisition): KeyedHandle {
    if (partOf.size > 0) void this.#compareStripes();
    const byKey = new Map<string, Handle>();
    for (const [key, part] of partOf) {
      const handle = acquisition.handleOf(part);
      if (handle !== undefined) byKey.set(key, handle);
    }
    return new KeyedHandle(this.name, byKey, acquisition.handles);
  }

  async #compareStripes(): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - this.#stripesNotedAt > HALF_DAY) {
      this.#stripesNotedAt = now;
      this.#otherStripes = await this.#findOtherStripes();
    }
    if (this.#otherStripes !== undefined) this.#warnOfOtherStripes(this.#otherStripes);
  }

  async #findOtherStripes(): Promise<number | undefined> {
    const own = this.#stripes ?? 0;
    const key = { prefix: this.#prefix, name: this.#names.ofAll };
    try {
      const noted = await backendOf(this.#target).noteStripes?.(key, own);
      return noted?.find((stripes) => stripes !== own);
    } catch {
      // The keys are held all the same.
      return undefined;
    }
  }

  #warnOfOtherStripes(other: number): void {
    if (this.#warned || this.listenerCount('warning') === 0) return;
    this.#warned = true;
    const [mine, others] = [this.#stripes ?? 'no', other === 0 ? 'none' : other];
    const message = `keyed mutex ${JSON.stringify(this.name)} is used with ${mine} stripes here and ${others} elsewhere: the two do not exclude each other`;
    // On the next tick, so that what a listener throws is its own uncaught exception.
    process.nextTick(() => this.emit('warning', { code: 'STRIPES_MISMATCH', message }));
  }

  /** An acquisition that ends because this was closed says so, and not which key it waited for. */
  async #asOneClosed<T>(acquisition: Promise<T>): Promise<T> {
    try {
      return await acquisition;
    } catch (error) {
      if (error instanceof ClosedError) throw new ClosedError(this.name);
      throw error;
    }
  }
}
