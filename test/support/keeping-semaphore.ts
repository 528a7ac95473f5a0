import { type AcquireOptions, type Handle, Semaphore } from '../../src/index.js';

/**
 * Its handles live as long as the semaphore: on a slow machine the garbage collector takes a
 * handle that a test has dropped, and the ticket runs out before the test has ended.
 */
export class KeepingSemaphore extends Semaphore {
  readonly #kept: Promise<Handle>[] = [];

  override acquire(options?: number | AcquireOptions): Promise<Handle> {
    const handle = super.acquire(options);
    this.#kept.push(handle);
    return handle;
  }
}
