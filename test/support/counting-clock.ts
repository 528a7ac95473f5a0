import { type Clock, systemClock } from '../../src/index.js';

/** The process's own clock, which also knows how many timers are set: also those that keep no process alive. */
export class CountingClock implements Clock {
  readonly #pending = new Set<object>();

  get timers(): number {
    return this.#pending.size;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  wall(): number {
    return systemClock.wall();
  }

  schedule(callback: () => void, delay: number, keepAlive: boolean): { cancel(): void } {
    const pending = {};
    this.#pending.add(pending);
    const timer = systemClock.schedule(
      () => {
        this.#pending.delete(pending);
        callback();
      },
      delay,
      keepAlive,
    );
    return {
      cancel: () => {
        this.#pending.delete(pending);
        timer.cancel();
      },
    };
  }
}
