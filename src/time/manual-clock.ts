import type { Clock, Timer } from './clock.js';

/** A clock for tests: it does not move until it is advanced. */
export class ManualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  readonly #pending = new Set<{ readonly at: number; readonly callback: () => void }>();

  /** `wall`: milliseconds since the epoch at which it starts. Default: now. */
  constructor(wall: number = Date.now()) {
    this.#wall = wall;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Milliseconds that have passed. */
  monotonic(): number {
    return this.#monotonic;
  }

  /** Milliseconds since the epoch. */
  wall(): number {
    return this.#wall;
  }

  /** Runs `callback` when `delay` milliseconds have passed. */
  schedule(callback: () => void, delay: number): Timer {
    const pending = { at: this.#monotonic + Math.max(0, delay), callback };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /**
   * Lets `duration` milliseconds pass: timers run in their order, and what they set off runs in
   * between.
   */
  async advance(duration: number): Promise<void> {
    const end = this.#monotonic + duration;
    for (;;) {
      await settle();
      const [next] = [...this.#pending].toSorted((one, other) => one.at - other.at);
      const isOver = next === undefined || next.at > end;
      this.stall((isOver ? end : next.at) - this.#monotonic);
      if (isOver) return;
      this.#pending.delete(next);
      next.callback();
    }
  }

  /** Time passes but no timer runs, as when the event loop is blocked or the machine suspended. */
  stall(duration: number): void {
    this.#monotonic += Math.max(0, duration);
    this.#wall += Math.max(0, duration);
  }

  /** Sets the wall clock forward or back by `offset` milliseconds; monotonic time continues. */
  stepWall(offset: number): void {
    this.#wall += offset;
  }
}

/** A few turns of the event loop: promises settle and ticks run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
