/** From how many grants the mean is. */
const MOST_GRANTS = 32;

/** How fast grants come, while a waiting request wants to know; see `pace.lua`. */
export class GrantPace {
  /** Microseconds; undefined: nobody wants to know. */
  #last: number | undefined = undefined;
  #mean = 0;
  #grants = 0;

  /** From now on, unless it has begun before; whether it has. */
  begin(now: number): boolean {
    if (this.#last !== undefined) return true;
    [this.#last, this.#mean, this.#grants] = [Math.round(now * 1000), 0, 0];
    return false;
  }

  /** Milliseconds until that many grants have been made; undefined before the first. */
  timeFor(grants: number): number | undefined {
    return this.#grants > 0 ? (grants * this.#mean) / 1000 : undefined;
  }

  /** The end of a call which granted that many requests. */
  note(served: number, waiting: number, now: number): void {
    if (this.#last === undefined) return;
    const last = this.#last;
    if (waiting === 0) this.#last = undefined;
    if (waiting === 0 || served === 0) return;
    this.#last = Math.round(now * 1000);
    const between = Math.max(0, this.#last - last) / served;
    for (let i = 0; i < served; i += 1) {
      this.#grants = Math.min(this.#grants + 1, MOST_GRANTS);
      this.#mean += (between - this.#mean) / this.#grants;
    }
    this.#mean = Math.floor(this.#mean);
  }
}
