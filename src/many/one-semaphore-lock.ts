import { EventEmitter } from 'node:events';
import { onceListened } from '../events.js';
import type { CloseOptions } from '../options.js';
import type { Semaphore } from '../semaphore.js';

/** A lock over one semaphore. It has the semaphore's name, emits its warnings and closes it. */
export abstract class OneSemaphoreLock<
  Events extends Record<keyof Events | 'warning', unknown[]>,
> extends EventEmitter<Events> {
  readonly #semaphore: Semaphore;

  /** @internal */
  protected constructor(semaphore: Semaphore) {
    super();
    this.#semaphore = semaphore;
    const emit = EventEmitter.prototype.emit.bind(this, 'warning');
    onceListened(this, 'warning', () => semaphore.on('warning', emit));
  }

  /** The name of the lock and of its semaphore. */
  get name(): string {
    return this.#semaphore.name;
  }

  /**
   * Rejects waiting requests with a `ClosedError` and takes the lock from its holders with reason
   * `closed`, as `close` of a semaphore. The client stays open.
   * @param options `drain` in milliseconds for which holders keep the lock, default 0
   * @throws {TypeError | RangeError} for wrong options, and for nothing else
   */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#semaphore.close(options);
  }

  /** `close()` without `drain`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
