import { type Clock, systemClock } from '../../src/index.js';

/**
 * The process's own clock, which also knows how many timers are set: also those that keep no
 * process alive.
 */
export class CountingClock implements Clock {
  readonly #pending = new Set<object>();
  readonly monotonic = (): number => systemClock.monotonic();
  readonly wall = (): number => systemClock.wall();

  get timers(): number {
    return this.#pending.size;
  }

  schedule(callback: () => void, delay: number, keepAlive: boolean): { cancel(): void } {
    const run = (): void => {
      this.#pending.delete(timer);
      callback();
    };
    const timer = systemClock.schedule(run, delay, keepAlive);
    this.#pending.add(timer);
    return {
      cancel: () => {
        this.#pending.delete(timer);
        timer.cancel();
      },
    };
  }
}
