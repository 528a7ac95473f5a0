import { setTimeout as sleep } from 'node:timers/promises';

import {
  AcquireTimeoutError,
  type Handle,
  HandleLostError,
  type Semaphore,
} from '../../../src/index.js';
import type { Invocation, Outcome } from '../../history/events.js';
import type { RandomNumbers } from '../../../test/support/random-numbers.js';
import { machineTime } from '../../history/machine-time.js';
import type { NewEvent, Recorder } from '../history/recorder.js';
import { certainUntil, type HolderWatch } from './holder-watch.js';

interface CallerOptions {
  readonly semaphore: Semaphore;
  readonly recorder: Recorder;
  readonly watch: HolderWatch;
  readonly random: RandomNumbers;
  readonly ttl: number;
  /** A number for each call of the process. */
  readonly nextCall: () => number;
}

const ABORTED = new Error('the caller has changed its mind');

/**
 * Acquires, holds and releases, one after the other, and records each call before it is made and
 * when it has ended.
 */
export class Caller {
  readonly #options: CallerOptions;
  #stopping = false;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#stopping) {
      const handle = await this.#ask();
      if (handle !== undefined) await this.#hold(handle);
      await sleep(this.#options.random.between(0, 20));
    }
  }

  /** Ends after the current call. */
  stop(): void {
    this.#stopping = true;
  }

  #ask(): Promise<Handle | undefined> {
    const { random, semaphore } = this.#options;
    const permits = semaphore.limit > 1 && random.chance(0.15) ? 2 : 1;
    if (random.chance(0.15)) {
      return this.#call({ operation: 'try', permits }, () => semaphore.tryAcquire({ permits }));
    }
    const timeout = random.between(100, 4000);
    const controller = random.chance(0.1) ? new AbortController() : undefined;
    const timer = setTimeout(() => controller?.abort(ABORTED), random.between(5, 500));
    const signal = controller === undefined ? {} : { signal: controller.signal };
    return this.#call({ operation: 'acquire', permits, timeout }, () =>
      semaphore.acquire({ permits, timeout, ...signal }),
    ).finally(() => clearTimeout(timer));
  }

  /** Records the request for a permit, and its outcome. */
  async #call(
    what: { operation: 'acquire' | 'try'; permits: number; timeout?: number },
    run: () => Promise<Handle | null>,
  ): Promise<Handle | undefined> {
    const { recorder, semaphore, watch } = this.#options;
    const semaphores = [semaphore.name];
    return this.#record({ semaphores, ...what }, async (ok) => {
      const handle = await run();
      if (handle === null) {
        ok({});
        return undefined;
      }
      const { id, name, slots, fencingToken: token } = handle;
      const at = machineTime();
      const until = certainUntil(handle);
      ok({ at, tickets: [{ semaphore: name, id, slots, token, until }] });
      handle.on('lost', ({ reason }) =>
        recorder.record({ type: 'lost', ticket: id, token, reason }),
      );
      watch.watch(handle, until);
      return handle;
    });
  }

  /** Records a call before it is made, and its end: `run` says that it did what it should. */
  async #record<T>(
    what: Invocation,
    run: (ok: (outcome: Outcome & { readonly at?: number }) => void) => Promise<T>,
  ): Promise<T | undefined> {
    const { recorder, nextCall } = this.#options;
    const call = nextCall();
    recorder.record({ type: 'invoke', call, ...what });
    try {
      return await run((outcome) => recorder.record({ type: 'ok', call, ...outcome }));
    } catch (error) {
      recorder.record(failure(call, error));
      return undefined;
    }
  }

  async #hold(handle: Handle): Promise<void> {
    const { random } = this.#options;
    await this.#work(handle);
    if (handle.held && random.chance(0.1)) await this.#extend(handle);
    await this.#release(handle);
  }

  /**
   * Mostly short; sometimes longer than the ttl, so that it must be extended; over at once when the
   * permit is lost.
   */
  async #work(handle: Handle): Promise<void> {
    const { random, ttl } = this.#options;
    const kind = random.next();
    const time =
      kind < 0.8
        ? random.between(2, 50)
        : random.between(100, Math.round(kind < 0.95 ? ttl / 2 : 4 * ttl));
    await sleep(time, undefined, { signal: handle.signal }).catch(() => undefined);
  }

  async #extend(handle: Handle): Promise<void> {
    await this.#record({ operation: 'extend', ...about(handle) }, async (ok) => {
      await handle.extend();
      ok({});
    });
  }

  async #release(handle: Handle): Promise<void> {
    this.#options.watch.unwatch(handle);
    await this.#record({ operation: 'release', ...about(handle) }, async (ok) => {
      ok({ result: await handle.release() });
    });
  }
}

function about({ id, name }: Handle): { semaphores: string[]; ticket: string } {
  return { semaphores: [name], ticket: id };
}

/** These say for certain that nothing is held; any other may come after a call that took effect. */
function failure(call: number, thrown: unknown): NewEvent {
  const certain =
    thrown instanceof AcquireTimeoutError ||
    thrown instanceof HandleLostError ||
    thrown === ABORTED;
  const error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return { type: certain ? 'fail' : 'unknown', call, error };
}
