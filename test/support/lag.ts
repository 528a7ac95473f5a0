/** How often it looks, in milliseconds. */
const period = 3;

/**
 * Measures, until it is stopped, for how many milliseconds in all the event loop was held up: by this
 * process, or by load on the machine. A call may take that much longer than was asked for.
 */
export class LagMeter {
  readonly #timer = setInterval(() => this.#look(), period);
  #last = performance.now();
  #total = 0;

  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    // Of each time that it looks, so much goes unseen: what was due then was that late.
    return this.#total + 2 * period;
  }

  #look(): void {
    const now = performance.now();
    const late = now - this.#last - period;
    // Timers are a millisecond late on an idle machine, too.
    if (late > period) this.#total += late;
    this.#last = now;
  }
}

export interface Timed {
  /** Milliseconds from just before the call until it settled. */
  readonly took: number;
  /** For how many of them the event loop may have been held up. */
  readonly lag: number;
}

/** How long a call takes, and what it resolves with; rejects as it does. */
export async function timed<T>(body: () => Promise<T>): Promise<Timed & { readonly value: T }> {
  const meter = new LagMeter();
  const began = performance.now();
  try {
    const value = await body();
    const took = performance.now() - began;
    return { value, took, lag: meter.stop() };
  } finally {
    meter.stop();
  }
}
