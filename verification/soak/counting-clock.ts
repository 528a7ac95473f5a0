import { type Clock, systemClock } from '../../src/index.js';

/** The clock of the process, which also counts its timers. */
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
