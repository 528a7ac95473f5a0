import { EventEmitter } from 'node:events';
import { checkType, text } from '../arguments/validation.js';
import { LONGEST_NAME } from '../backends/protocol.js';
import { WeakGroups } from '../core/weak-groups.js';
import { ClosedError } from '../errors.js';
import { runHolding, type Task } from '../core/use.js';
import type { Handle } from '../handle.js';
import type { MutexOptions, SemaphoreTarget } from '../mutex.js';
import { checkFunction, resolveClose } from '../arguments/resolve.js';
import type { CloseOptions } from '../options.js';
import { type PoolReports, Semaphore, type TryUseResult } from '../semaphore.js';
import { inSlices } from '../time/in-slices.js';
import type { CompositeHandle } from './composite-handle.js';

/** In bytes. */
const LONGEST_OWN_NAME = 128;

/** Warnings that an object emits once for all its keys; of an outage, until a call succeeds. */
const ONCE = /^BACKEND_UNREACHABLE$|_MISMATCH$/;

/**
 * The semaphores of the keys of one object. The object makes them on demand, forgets them when they
 * are idle, closes them together, and emits their warnings.
 */
export abstract class KeyedLocks<
  Keys,
  Held extends Handle | CompositeHandle,
  Options,
  Events extends Record<keyof Events, unknown[]>,
  TryOptions extends unknown[] = [],
> extends EventEmitter<Events> {
  /** As given to the constructor. */
  readonly name: string;
  /** @internal */
  protected readonly target: SemaphoreTarget;
  readonly #options: MutexOptions;
  // Only permits and requests keep a semaphore in memory: unused keys take none.
  readonly #semaphores = new WeakGroups<Semaphore>();
  readonly #warned = new Set<string>();
  readonly #reports: PoolReports = {
    onReply: () => void this.#warned.delete('BACKEND_UNREACHABLE'),
    onWarning: (warning) => this.report(warning),
  };
  #isClosed = false;

  /** @internal */
  protected constructor(target: SemaphoreTarget, name = 'default', options: MutexOptions) {
    super();
    this.name = text('name', name, 1, LONGEST_OWN_NAME);
    checkType(!name.includes(':'), 'name', 'no colon', name);
    this.target = target;
    this.#options = options;
  }

  abstract acquire(keys: Keys, options?: number | Options): Promise<Held>;

  abstract tryAcquire(keys: Keys, ...options: TryOptions): Promise<Held | null>;

  /**
   * Runs `fn` with a handle, then releases the handle, also when `fn` throws. Resolves or rejects
   * as `fn` does. A failed release changes neither the result nor the error of `fn`: it becomes the
   * `cause` (or `suppressed`) of the error, or a `warning` if `fn` gave a result.
   * @param options as `acquire`
   * @throws as `acquire`, and what `fn` throws
   */
  async use<T>(keys: Keys, fn: Task<Held, T>, options?: number | Options): Promise<T> {
    checkFunction('fn', fn);
    return runHolding(await this.acquire(keys, options), fn);
  }

  /**
   * As `use`, but runs `fn` only if `tryAcquire` gives a handle: for a job that starts on every
   * replica, but must run on a single replica.
   * @throws as `tryAcquire`, and what `fn` throws
   */
  async tryUse<T>(keys: Keys, fn: Task<Held, T>, ...options: TryOptions): Promise<TryUseResult<T>> {
    checkFunction('fn', fn);
    const handle = await this.tryAcquire(keys, ...options);
    return handle === null ? { ran: false } : { ran: true, result: await runHolding(handle, fn) };
  }

  /**
   * Takes the permits of all keys from their handles at once, also while their work still runs.
   * With `drain`, holders first have `drain` milliseconds to release their permits. Otherwise it is
   * as `close` of a semaphore: the client stays open.
   * @param options `drain` in milliseconds, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  async close(options: CloseOptions = {}): Promise<void> {
    resolveClose(options);
    // Set before listeners are called: a semaphore that a listener opens would stay open.
    this.#isClosed = true;
    const closing: Promise<void>[] = [];
    // Also semaphores that are closed already: the second call may end their drain.
    await inSlices(this.#semaphores.all(), (each) => void closing.push(each.close(options)));
    await Promise.all(closing);
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal How many semaphores there are, with some that were collected a moment ago. */
  get size(): number {
    return this.#semaphores.size;
  }

  /** @internal */
  protected assertOpen(): void {
    if (this.#isClosed) throw new ClosedError(this.name);
  }

  /** @internal The name of a key's semaphore. `name` has no colon, so no two keys share it. */
  protected nameOf(option: string, key: unknown): string {
    const start = `keyed:${this.name}:`;
    return start + text(option, key, 1, LONGEST_NAME - Buffer.byteLength(start));
  }

  /** @internal With another limit the name has another object, as in another process. */
  protected semaphore(name: string, limit: number): Semaphore {
    this.assertOpen();
    return this.#semaphores.one(`${limit}:${name}`, () =>
      Semaphore.pooled(this.#reports, this.target, name, { ...this.#options, limit }),
    );
  }

  /** @internal False when no listener gets the warning. */
  protected report(warning: { readonly code: string; readonly message: string }): boolean {
    if (EventEmitter.prototype.listenerCount.call(this, 'warning') === 0) return false;
    const { code } = warning;
    if (this.#warned.has(code)) return true;
    if (ONCE.test(code)) this.#warned.add(code);
    process.nextTick(() => EventEmitter.prototype.emit.call(this, 'warning', warning));
    return true;
  }
}
