import { EventEmitter } from 'node:events';
import { Worker } from 'node:worker_threads';
import { typeError } from '../arguments/validation.js';
import { RedisBackend } from '../backends/redis/redis-backend.js';
import type { Backend } from '../backends/backend.js';
import type { Keep, KeptSemaphore, LeaseKeeper } from '../backends/lease-keeper.js';
import { describe } from '../error-causes.js';
import type { Clock } from '../time/clock.js';
import { systemClock, threadClock } from '../time/clock.js';
import type { KeeperOptions } from './keeper-options.js';
import { resolveKeeper } from './keeper-options.js';
import { KeptLeases } from './kept-leases.js';
import type { Notice } from './messages.js';
import { together } from './messages.js';
import type { WorkerData } from './worker.js';

/** A problem that needs your attention, though permits are renewed all the same. */
export interface KeeperWarning {
  /** `KEEPER_LOST`: see the event. */
  readonly code: 'KEEPER_LOST';
  /** The problem and what to do about it, in words. */
  readonly message: string;
}

/** Every event and what its listeners get. */
export interface KeeperEvents {
  /**
   * `KEEPER_LOST`: the keeper's thread has ended, or cannot renew. The main thread renews as
   * without a keeper. Once per outage.
   */
  warning: [warning: KeeperWarning];
}

/**
 * Renews permits in a worker thread, over a separate connection, so that they outlive a blocked
 * event loop of this thread. `held`, `expiresIn` and `assertHeld()` read the leases of the keeper,
 * and are right in the middle of a loop that never yields. A keeper serves any number of
 * semaphores. It does not keep the process alive.
 */
export class Keeper extends EventEmitter<KeeperEvents> implements LeaseKeeper {
  readonly #worker: Worker;
  readonly #leases: KeptLeases;

  /**
   * @param options the connection of its thread, and `maxStall`
   * @throws {TypeError | RangeError} at once, naming option, expectation and value
   */
  constructor(options: KeeperOptions) {
    super();
    const resolved = resolveKeeper(options);
    this.#leases = new KeptLeases({
      clock: threadClock,
      maxStall: resolved.maxStall,
      send: together((orders) => this.#worker.postMessage(orders)),
      warn: (why) => this.#warn(why),
    });
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: { ...resolved, buffer: this.#leases.shared.buffer } satisfies WorkerData,
      name: 'redsem keeper',
      // Renewals make little garbage: the thread's own heap stays small. 65 536 leases fit.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 128 },
    });
    this.#worker.on('message', (notices: readonly Notice[]) => {
      for (const notice of notices) this.#leases.hear(notice);
    });
    this.#worker.on('error', (error) => this.#onEnd(describe(error)));
    this.#worker.on('exit', (code) => this.#onEnd(`code ${code}`));
    // After the listeners, because they keep the process alive.
    this.#worker.unref();
  }

  /** Called by each semaphore that has this keeper. */
  open(semaphore: KeptSemaphore, backend: Backend, clock: Clock): Keep {
    const isFit = backend instanceof RedisBackend && clock === systemClock;
    if (isFit) return this.#leases.open(semaphore);
    let where = 'in memory, on a custom backend or beside a clock';
    if (backend.hasNoQueue === true) where = 'on several masters (a keeper has a single client)';
    throw typeError(`keeper: expected none ${where}, got one`);
  }

  /**
   * Ends the thread and its connection. From then on this thread renews the held permits.
   * Idempotent; never rejects.
   */
  async close(): Promise<void> {
    this.#leases.end();
    await this.#worker.terminate();
  }

  #onEnd(why: string): void {
    if (this.#leases.isOver) return;
    this.#leases.end();
    this.#warn(`has ended: ${why}`);
  }

  #warn(what: string): void {
    const message = `the keeper's thread ${what}; this thread renews, as without a keeper`;
    // On the next tick, because a listener may throw: other notices of the thread may follow.
    process.nextTick(() => this.emit('warning', { code: 'KEEPER_LOST', message }));
  }
}
