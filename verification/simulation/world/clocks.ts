import type { Clock, Timer } from '../../../src/index.js';
import type { Random } from '../random.js';
import type { Scheduler } from './scheduler.js';

/** An arbitrary time of day, in milliseconds since 1970. */
export const EPOCH = 1_700_000_000_000;

/** The time of a clock that runs at this rate from now on. */
function elapsing(scheduler: Scheduler, rate: number): () => number {
  const born = scheduler.now;
  return () => (scheduler.now - born) * rate;
}

/** The part of a simulated process that its clock uses. */
interface Runner {
  readonly scheduler: Scheduler;
  /** Calls a function in the process at a moment of true time, if the process can run then. */
  runAt(time: number, run: () => void, patience: number): { cancel(): void };
}

/** The clocks, the timers and the chance of a simulated process. */
export class ProcessClock implements Clock {
  readonly rate: number;
  readonly #process: Runner;
  readonly #random: Random;
  readonly #elapsed: () => number;
  readonly #origin: number;
  readonly #pending = new Set<object>();
  #offset = 0;

  constructor(process: Runner, rate: number, random: Random) {
    this.#process = process;
    this.rate = rate;
    this.#random = random;
    this.#elapsed = elapsing(process.scheduler, rate);
    this.#origin = random.real(0, 1e6);
    this.#offset = random.real(-5000, 5000);
  }

  /** The number of timers that are set. */
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
    const token = {};
    // Node's timers never fire early, and mostly a little late.
    const late = this.#random.real(0, 0.5);
    const due = this.#process.scheduler.now + Math.max(delay, 1) / this.rate + late;
    const run = (): void => {
      this.#pending.delete(token);
      callback();
    };
    // After a stall timers run before replies are read, as in Node.
    const happening = this.#process.runAt(due, run, 0);
    this.#pending.add(token);
    return {
      cancel: () => {
        this.#pending.delete(token);
        happening.cancel();
      },
    };
  }

  random(): number {
    return this.#random.next();
  }

  stepWall(by: number): void {
    this.#offset += by;
  }
}

/** A server's clock: it may be stepped, and be set to the time of an earlier call for a replay. */
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
   * The time without a replay, in eighths of a millisecond, which binary fractions hold exactly.
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
