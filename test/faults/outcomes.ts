import { setTimeout as sleep } from 'node:timers/promises';

/** What a promise rejects with; an error of its own where it resolves. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`it resolved with ${String(value)}`);
}

/** Asks again until the check passes or the time is over; then its last error counts. */
export async function eventually<T>(check: () => T | Promise<T>, patience = 5000): Promise<T> {
  const deadline = performance.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(5);
  }
}

export interface Timed {
  /** Milliseconds until it settled. */
  readonly took: number;
  /** By how many of them the event loop may have been late. */
  readonly lag: number;
}

/** How long a promise takes to settle, and the worst lag of the event loop meanwhile. */
export async function timed(promise: Promise<unknown>): Promise<Timed> {
  const began = performance.now();
  const meter = new LagMeter();
  try {
    await promise;
  } catch {
    // How it ends is another question.
  }
  const took = performance.now() - began;
  return { took, lag: meter.stop() };
}

export interface TimedRejection extends Timed {
  readonly error: unknown;
}

/** With what and how soon a call rejects. */
export async function timedRejection(call: () => Promise<unknown>): Promise<TimedRejection> {
  const promise = call();
  const time = await timed(promise);
  return { ...time, error: await rejectionOf(promise) };
}

const step = 5;

/** Measures by how much timers are late, until it is stopped. */
export class LagMeter {
  readonly #timer: NodeJS.Timeout;
  #last = performance.now();
  #worst = 0;

  constructor() {
    this.#timer = setInterval(() => this.#measure(), step);
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#measure();
    return this.#worst;
  }

  #measure(): void {
    const now = performance.now();
    this.#worst = Math.max(this.#worst, now - this.#last - step);
    this.#last = now;
  }
}
