import { onceAborted } from '../core/abort-fanout.js';
import type { Clock } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';

/**
 * The reason of a `DeadlineScope` whose time is over. Its owner reports it to the caller in better
 * words.
 */
export class DeadlineExceeded extends Error {}

/**
 * Ends everything that an acquisition has under way: at its deadline, when its caller aborts, or
 * when a part fails for good.
 */
export class DeadlineScope {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #deadline: Wakeup;
  readonly #forget: (() => void) | undefined;

  /** `deadline`: monotonic time; Infinity: none. */
  constructor(clock: Clock, deadline: number, caller: AbortSignal | undefined) {
    this.#deadline = new Wakeup(clock, true, () => this.end(new DeadlineExceeded()));
    this.#deadline.wakeBy(deadline, clock.monotonic());
    if (caller?.aborted === true) this.end(caller.reason);
    else this.#forget = caller && onceAborted(caller, () => this.end(caller.reason));
  }

  end(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Takes back the timer and the listener. */
  dispose(): void {
    this.#deadline.stop();
    this.#forget?.();
  }
}
