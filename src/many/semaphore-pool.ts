import type { EventEmitter } from 'node:events';
import { WeakGroups } from '../core/weak-groups.js';
import { ClosedError } from '../errors.js';
import type { SemaphoreTarget } from '../mutex.js';
import type { CloseOptions, SemaphoreOptions } from '../options.js';
import { resolveClose } from '../options.js';
import type { PoolReports, SemaphoreEvents, SemaphoreWarning } from '../semaphore-types.js';
import { Semaphore } from '../semaphore.js';
import { inSlices } from '../time/in-slices.js';

/** Whose semaphores they are: it emits their warnings, and a `ClosedError` has its name. */
interface PoolOwner extends Pick<EventEmitter<SemaphoreEvents>, 'emit' | 'listenerCount'> {
  readonly name: string;
}

/**
 * The semaphores under the keys of one owner: made on demand, forgotten when idle, closed together.
 * They warn as one semaphore: an outage is reported once and not for each key, and so is another
 * limit.
 */
export class SemaphorePool implements PoolReports {
  readonly #owner: PoolOwner;
  readonly #target: SemaphoreTarget;
  readonly #options: Omit<SemaphoreOptions, 'limit'>;
  // Kept by their permits and requests alone: unused keys take no memory.
  readonly #semaphores = new WeakGroups<Semaphore>();
  /** What was reported and is not reported again: an outage until a call succeeds. */
  readonly #reported = new Set<SemaphoreWarning['code']>();
  #closed: Promise<unknown> | undefined;

  constructor(owner: PoolOwner, target: SemaphoreTarget, options: Omit<SemaphoreOptions, 'limit'>) {
    this.#owner = owner;
    this.#target = target;
    this.#options = options;
  }

  /**
   * The one of that name and limit. Under another limit the name has another object, as in another
   * process.
   */
  of(name: string, limit: number): Semaphore {
    this.assertOpen();
    const place = `${limit}:${name}`;
    return this.#semaphores.one(place, () =>
      Semaphore.pooled(this, this.#target, name, { ...this.#options, limit }),
    );
  }

  /** How many it has; also of those that were collected just now. */
  get size(): number {
    return this.#semaphores.size;
  }

  onReply(): void {
    this.#reported.delete('BACKEND_UNREACHABLE');
  }

  onWarning(warning: SemaphoreWarning): boolean {
    if (this.#owner.listenerCount('warning') === 0) return false;
    const { code } = warning;
    if (this.#reported.has(code)) return true;
    if (code === 'BACKEND_UNREACHABLE' || code === 'LIMIT_MISMATCH') this.#reported.add(code);
    process.nextTick(() => this.#owner.emit('warning', warning));
    return true;
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
