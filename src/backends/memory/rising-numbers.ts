/** Fencing tokens and places in queues: in microseconds, always rising, as on a server. */
export class RisingNumbers {
  #last = 0;

  /** `now`: in milliseconds. */
  next(now: number): number {
    this.#last = Math.max(this.#last + 1, Math.floor(now * 1000));
    return this.#last;
  }

  /** What was given before the data was lost: the next one is higher. */
  keepAbove(number: number): void {
    this.#last = Math.max(this.#last, number);
  }
}
