import type { Backend } from '../backends/backend.js';
import { WeakGroups } from '../calling/weak-groups.js';
import type { RedisTarget } from '../clients.js';
import { ClosedError } from '../errors.js';
import type { CloseOptions, SemaphoreOptions } from '../options.js';
import { resolveClose } from '../options.js';
import { Semaphore } from '../semaphore.js';
import { inSlices } from '../time/in-slices.js';

/** Nobody listens to it but its pool. */
class PooledSemaphore extends Semaphore {
  onReleaseFailed: ((cause: unknown) => void) | undefined;

  protected override warnOfRelease(cause: unknown): void {
    this.onReleaseFailed?.(cause);
  }
}

/**
 * The semaphores under the keys of one owner: made on demand, forgotten when idle, closed together.
 */
export class SemaphorePool {
  readonly #owner: string;
  readonly #target: RedisTarget | Backend;
  readonly #options: Omit<SemaphoreOptions, 'limit'>;
  readonly #onReleaseFailed: (cause: unknown) => void;
  // Kept by their permits and requests alone: unused keys take no memory.
  readonly #semaphores = new WeakGroups<PooledSemaphore>();
  #closed: Promise<unknown> | undefined;

  /**
   * `owner`: the name in a `ClosedError`. `onReleaseFailed`: a permit could not be given back, and
   * nobody got the error.
   */
  constructor(
    owner: string,
    target: RedisTarget | Backend,
    options: Omit<SemaphoreOptions, 'limit'>,
    onReleaseFailed: (cause: unknown) => void,
  ) {
    this.#owner = owner;
    this.#target = target;
    this.#options = options;
    this.#onReleaseFailed = onReleaseFailed;
  }

  /**
   * The one of that name and limit. Under another limit the name has another object, as in another
   * process.
   */
  of(name: string, limit: number): Semaphore {
    this.assertOpen();
    const place = `${limit}:${name}`;
    let [semaphore] = this.#semaphores.of(place);
    if (semaphore === undefined) {
      semaphore = new PooledSemaphore(this.#target, name, { ...this.#options, limit });
      semaphore.onReleaseFailed = this.#onReleaseFailed;
      this.#semaphores.add(place, semaphore);
    }
    return semaphore;
  }

  /** How many it has; also of those that were collected just now. */
  get size(): number {
    return this.#semaphores.size;
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError(this.#owner);
  }

  async close(options: CloseOptions): Promise<void> {
    resolveClose(options);
    // Again also where it is closed: a second one may end the first one's drain.
    this.#closed = Promise.all([this.#closed, this.#closeAll(options)]);
    await this.#closed;
  }

  async #closeAll(options: CloseOptions): Promise<void> {
    const closing: Promise<void>[] = [];
    await inSlices(this.#semaphores.all(), (each) => void closing.push(each.close(options)));
    await Promise.all(closing);
  }
}
