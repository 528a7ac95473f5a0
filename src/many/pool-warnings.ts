import type { EventEmitter } from 'node:events';
import type { SemaphoreEvents, SemaphoreWarning } from '../semaphore-types.js';

/** What emits the warnings of many semaphores. */
export type WarningSource = Pick<EventEmitter<SemaphoreEvents>, 'emit' | 'listenerCount'>;

/**
 * The warnings of semaphores that come and go with their keys, as those of one: an outage is
 * reported once and not for each key, and so is another limit.
 */
export class PoolWarnings {
  readonly #source: WarningSource;
  #isOutage = false;
  #hasOtherLimit = false;

  constructor(source: WarningSource) {
    this.#source = source;
  }

  /** A call of one of them has succeeded. */
  onReply(): void {
    this.#isOutage = false;
  }

  /** False when nobody listens. */
  pass(warning: SemaphoreWarning): boolean {
    if (this.#source.listenerCount('warning') === 0) return false;
    if (this.#isNews(warning)) process.nextTick(() => this.#source.emit('warning', warning));
    return true;
  }

  #isNews({ code }: SemaphoreWarning): boolean {
    if (code === 'BACKEND_UNREACHABLE') {
      if (this.#isOutage) return false;
      this.#isOutage = true;
    }
    if (code === 'LIMIT_MISMATCH') {
      if (this.#hasOtherLimit) return false;
      this.#hasOtherLimit = true;
    }
    return true;
  }
}
