import type { Clock, Timer } from '../../../src/index.js';
import type { Random } from '../random.js';
import type { Scheduler } from './scheduler.js';

/** Any time since the epoch will do. */
export const EPOCH = 1_700_000_000_000;

/** What has passed on a clock that runs at its own rate from now on. */
function elapsing(scheduler: Scheduler, rate: number): () => number {
  const born = scheduler.now;
  return () => (scheduler.now - born) * rate;
}

/** What a simulated process has instead of real clocks, timers and chance. */
export interface ProcessClockOptions {
  readonly scheduler: Scheduler;
  readonly rate: number;
  readonly random: Random;
  /** Runs something in the process at a moment of true time, if it can run then. */
  readonly runAt: (time: number, run: () => void) => { cancel(): void };
}

export class ProcessClock implements Clock {
  readonly rate: number;
  readonly #options: ProcessClockOptions;
  readonly #elapsed: () => number;
  readonly #origin: number;
  readonly #pending = new Set<object>();
  #offset = 0;

  constructor(options: ProcessClockOptions) {
    const { scheduler, rate, random } = options;
    this.#options = options;
    this.rate = rate;
    this.#elapsed = elapsing(scheduler, rate);
    this.#origin = random.real(0, 1e6);
    this.#offset = random.real(-5000, 5000);
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#pending.size;
  }

  monotonic(): number {
    return this.#origin + this.#elapsed();
  }

  wall(): number {
    return EPOCH + this.#elapsed() + this.#offset;
  }

  schedule(callback: () => void, delay: number): Timer {
    const { scheduler, random, runAt } = this.#options;
    const token = {};
    // Node's timers never fire early, and mostly a little late.
    const due = scheduler.now + Math.max(delay, 1) / this.rate + random.real(0, 0.5);
    const happening = runAt(due, () => {
      this.#pending.delete(token);
      callback();
    });
    this.#pending.add(token);
    return {
      cancel: () => {
        this.#pending.delete(token);
        happening.cancel();
      },
    };
  }

  random(): number {
    return this.#options.random.next();
  }

  stepWall(by: number): void {
    this.#offset += by;
  }
}

/**
 * A server's clock: it may be stepped, and be set to an earlier moment while what was done then is
 * done again.
 */
export class ServerClock implements Clock {
  readonly #elapsed: () => number;
  #offset = EPOCH;
  #replayed: number | undefined;

  constructor(scheduler: Scheduler, rate: number) {
    this.#elapsed = elapsing(scheduler, rate);
  }

  monotonic(): number {
    return this.#replayed ?? this.present;
  }

  /**
   * Also while older calls are done again. In whole microseconds that binary fractions hold
   * exactly.
   */
  get present(): number {
    return Math.floor((this.#offset + this.#elapsed()) * 8) / 8;
  }

  wall(): number {
    return this.monotonic();
  }

  schedule(): Timer {
    throw new Error('a simulated server sets no timers');
  }

  step(by: number): void {
    this.#offset += by;
  }

  replay(time: number | undefined): void {
    this.#replayed = time;
  }
}
