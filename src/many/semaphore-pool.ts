import type { Backend } from '../backends/backend.js';
import { WeakGroups } from '../core/weak-groups.js';
import type { RedisTarget } from '../clients.js';
import { ClosedError } from '../errors.js';
import type { CloseOptions, SemaphoreOptions } from '../options.js';
import { resolveClose } from '../options.js';
import type { SemaphoreWarning } from '../semaphore-types.js';
import { Semaphore } from '../semaphore.js';
import { inSlices } from '../time/in-slices.js';
import type { WarningSource } from './pool-warnings.js';
import { PoolWarnings } from './pool-warnings.js';

/** Nobody listens to it but its pool. */
class PooledSemaphore extends Semaphore {
  readonly #warnings: PoolWarnings;

  constructor(
    target: RedisTarget | Backend,
    name: string,
    options: SemaphoreOptions,
    warnings: PoolWarnings,
  ) {
    super(target, name, options);
    this.#warnings = warnings;
    this.watchCalls();
  }

  protected override onReply(): void {
    this.#warnings.onReply();
  }

  protected override warn(warning: SemaphoreWarning): boolean {
    return this.#warnings.pass(warning);
  }
}

/** Whose semaphores they are. */
interface PoolOwner extends WarningSource {
  readonly name: string;
}

/**
 * The semaphores under the keys of one owner: made on demand, forgotten when idle, closed together.
 */
export class SemaphorePool {
  readonly #owner: PoolOwner;
  readonly #target: RedisTarget | Backend;
  readonly #options: Omit<SemaphoreOptions, 'limit'>;
  readonly #warnings: PoolWarnings;
  // Kept by their permits and requests alone: unused keys take no memory.
  readonly #semaphores = new WeakGroups<PooledSemaphore>();
  #closed: Promise<unknown> | undefined;

  /** `owner`: has the name in a `ClosedError`, and emits the warnings. */
  constructor(
    owner: PoolOwner,
    target: RedisTarget | Backend,
    options: Omit<SemaphoreOptions, 'limit'>,
  ) {
    this.#owner = owner;
    this.#target = target;
    this.#options = options;
    this.#warnings = new PoolWarnings(owner);
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
      const options = { ...this.#options, limit };
      semaphore = new PooledSemaphore(this.#target, name, options, this.#warnings);
      this.#semaphores.add(place, semaphore);
    }
    return semaphore;
  }

  /** How many it has; also of those that were collected just now. */
  get size(): number {
    return this.#semaphores.size;
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw new ClosedError(this.#owner.name);
  }

  async close(options: CloseOptions): Promise<void> {
    resolveClose(options);
    // Before listeners are called: what they get under another key would stay open.
    this.#closed ??= Promise.resolve();
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
