import { forgetAbort, onceAborted } from '../calling/abort-fanout.js';
import type { Clock, Timer } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';

/** The reason of an `DeadlineScope` whose time is over. Its owner tells the caller in better words. */
export class DeadlineExceeded extends Error {}

/** Ends everything that an acquisition has under way: at its deadline, when its caller aborts, or when a part fails for good. */
export class DeadlineScope {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #deadline: Wakeup;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = (): void => this.end(this.#caller?.reason);

  /** `deadline`: monotonic time; Infinity: none. */
  constructor(clock: Clock, deadline: number, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#caller = caller;
    this.#deadline = new Wakeup(clock, true, () => this.end(new DeadlineExceeded()));
    this.#deadline.wakeBy(deadline, clock.monotonic());
    if (caller?.aborted === true) this.#onAbort();
    else if (caller !== undefined) onceAborted(caller, this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Takes back the timer and the listener. */
  dispose(): void {
    this.#deadline.stop();
    if (this.#caller !== undefined) forgetAbort(this.#caller, this.#onAbort);
  }

  /** Resolves after so many milliseconds. @throws the reason, when it is ended before. */
  async pause(duration: number): Promise<void> {
    let timer: Timer | undefined;
    const resumed = new Promise<void>((resolve) => {
      timer = this.#clock.schedule(resolve, duration, true);
    });
    await this.race(resumed).finally(() => timer?.cancel());
  }

  /** Settles as `promise` does. @throws the reason, when it is ended before. */
  race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const onEnd = (): void => reject(signal.reason as unknown);
      void promise.then(resolve, reject).then(() => forgetAbort(signal, onEnd));
      if (signal.aborted) onEnd();
      else onceAborted(signal, onEnd);
    });
  }
}
