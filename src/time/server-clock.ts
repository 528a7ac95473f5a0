import { type Clock, elapsedSince, type Instant } from './clock.js';
import type { ValidityWindow } from './validity.js';

/**
 * How far two clocks may run apart between two replies, with room for the reading itself, in
 * milliseconds.
 */
const SLACK = 10;

/**
 * The backend's clock by the last reply: it was read, as `time`, no earlier than the local moment
 * at which the call was sent. No absolute local time is ever compared with it.
 */
export class ServerClock {
  readonly #clock: Clock;
  #last: { readonly sent: Instant; readonly received: number; readonly time: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(sent: Instant, time: number): void {
    // A call has a reply for each of its semaphores.
    if (this.#last?.sent === sent && this.#last.time === time) return;
    this.#last = { sent, received: this.#clock.monotonic(), time };
  }

  /**
   * The latest that the backend's clock can show `delay` milliseconds from now, once it was ever
   * seen. `now`: as in `elapsedSince`.
   */
  latestIn(delay: number, now?: number): number | undefined {
    if (this.#last === undefined) return undefined;
    return this.#last.time + elapsedSince(this.#last.sent, this.#clock, now) + delay + SLACK;
  }

  /** Milliseconds until the backend's clock shows `time` for sure; may be negative. */
  delayUntil(time: number): number {
    if (this.#last === undefined) return 0;
    const since = this.#clock.monotonic() - this.#last.received;
    return time - this.#last.time - since + 1;
  }

  /**
   * Server time `expiry` lies at the local moment `from + duration` or later; no later than `most`
   * milliseconds from now. Undefined where no such moment is known: `most` is how long a ticket can
   * live, so an expiry that is further ahead shows that the server's clock was stepped since.
   */
  validityUntil(expiry: number, most: number): ValidityWindow | undefined {
    if (this.#last === undefined) return undefined;
    const { sent, time } = this.#last;
    const longest = elapsedSince(sent, this.#clock) + most;
    if (expiry - time > longest + SLACK) return undefined;
    return { from: sent, duration: Math.min(expiry - time, longest) };
  }
}
