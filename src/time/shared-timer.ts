import type { Clock, Timer } from './clock.js';
import { LONGEST_TIMER } from './clock.js';

/**
 * One timer for many who must be woken: it is set for the earliest of them. The callback looks who is due and
 * sets it anew, so nobody needs a timer of their own, nor to take one back.
 */
export class SharedTimer {
  readonly #clock: Clock;
  readonly #keepAlive: boolean;
  readonly #callback: () => void;
  #timer: Timer | undefined;
  #at = Infinity;

  /** `keepAlive`: whether the process stays alive for it. */
  constructor(clock: Clock, keepAlive: boolean, callback: () => void) {
    this.#clock = clock;
    this.#keepAlive = keepAlive;
    this.#callback = callback;
  }

  /** Wakes at the monotonic time `at` or earlier; `now` is that time now. */
  wakeBy(at: number, now: number): void {
    if (at >= this.#at) return;
    this.#timer?.cancel();
    this.#at = at;
    const delay = Math.min(Math.ceil(at - now), LONGEST_TIMER);
    this.#timer = this.#clock.schedule(this.#onTimer, delay, this.#keepAlive);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Infinity;
  }

  // Timers may fire a little early, and long ones are set in parts.
  readonly #onTimer = (): void => {
    const at = this.#at;
    const now = this.#clock.monotonic();
    this.stop();
    if (at > now) this.wakeBy(Math.max(at, now + 1), now);
    else this.#callback();
  };
}
