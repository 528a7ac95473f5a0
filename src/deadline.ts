import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER } from './clock.js';

/** Runs `callback` at a point of monotonic time, however far away; it keeps the process alive until then. */
export class Deadline {
  readonly #clock: Clock;
  readonly #at: number;
  readonly #callback: () => void;
  #timer: Timer | undefined;

  constructor(clock: Clock, at: number, callback: () => void) {
    this.#clock = clock;
    this.#at = at;
    this.#callback = callback;
    this.#wait(at - clock.monotonic());
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #wait(left: number): void {
    const delay = Math.min(Math.ceil(left), LONGEST_TIMER);
    this.#timer = this.#clock.schedule(() => this.#onTimer(), delay, true);
  }

  /** Timers may fire a little early, and long ones are set in parts. */
  #onTimer(): void {
    const left = this.#at - this.#clock.monotonic();
    if (left > 0) this.#wait(left > 1 ? left : left + 1);
    else this.#callback();
  }
}
