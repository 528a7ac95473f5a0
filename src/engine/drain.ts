import type { Clock, Timer } from '../time/clock.js';
import type { LeaseRenewer } from './lease-renewer.js';

/** The time that `close` leaves to holders. */
export class Drain {
  readonly #clock: Clock;
  readonly #renewer: LeaseRenewer;
  #timer: Timer | undefined;
  #resolve: (() => void) | undefined;

  constructor(clock: Clock, renewer: LeaseRenewer) {
    this.#clock = clock;
    this.#renewer = renewer;
  }

  /**
   * Resolves when nothing is held any more, when `duration` milliseconds are over, or when it is
   * ended.
   */
  run(duration: number): Promise<void> {
    if (this.#renewer.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resolve = resolve;
      // It keeps the process alive: whoever awaits `close` must get to what follows it.
      this.#timer = this.#clock.schedule(() => this.end(), duration, true);
      this.#renewer.onceEmpty(() => this.end());
    });
  }

  end(): void {
    this.#timer?.cancel();
    this.#resolve?.();
  }
}
