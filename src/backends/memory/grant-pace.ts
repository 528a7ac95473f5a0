import type { AcquireVerdict, TicketRequest } from '../backend.js';
import type { WaitingLine } from './waiting-line.js';

/** From how many grants the mean is. */
const MOST_GRANTS = 32;

/** How fast grants come, while a waiting request wants to know; see `pace.lua`. */
export class GrantPace {
  /** Microseconds; undefined: nobody wants to know. */
  #last: number | undefined = undefined;
  #mean = 0;
  #grants = 0;
  /** Whether it began in this call, whose grants are from before. */
  #isNew = false;

  /** Says of those that ask how long they may have to wait. */
  addTo(
    verdicts: AcquireVerdict[],
    requests: readonly TicketRequest[],
    queue: WaitingLine,
    now: number,
  ): void {
    for (const [i, { id, asksProgress }] of requests.entries()) {
      const verdict = verdicts[i];
      if (asksProgress !== true || verdict?.kind !== 'queued') continue;
      if (this.#last === undefined) this.#begin(now);
      const position = queue.positionOf(id);
      const estimate = this.#grants > 0 ? ((position + 1) * this.#mean) / 1000 : undefined;
      verdicts[i] = { ...verdict, progress: { position, waiting: queue.size, estimate } };
    }
  }

  #begin(now: number): void {
    [this.#last, this.#mean, this.#grants] = [Math.round(now * 1000), 0, 0];
    this.#isNew = true;
  }

  /** The end of a call which granted that many requests. */
  note(served: number, waiting: number, now: number): void {
    if (this.#last === undefined) return;
    const [last, isNew] = [this.#last, this.#isNew];
    this.#isNew = false;
    if (waiting === 0) this.#last = undefined;
    if (waiting === 0 || served === 0 || isNew) return;
    this.#last = Math.round(now * 1000);
    const between = Math.max(0, this.#last - last) / served;
    for (let i = 0; i < served; i += 1) {
      this.#grants = Math.min(this.#grants + 1, MOST_GRANTS);
      this.#mean += (between - this.#mean) / this.#grants;
    }
    this.#mean = Math.floor(this.#mean);
  }
}
