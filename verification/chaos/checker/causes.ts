import { RECONNECT, SLACK } from './precision.js';
import { type Fault, type RunRecord, stoodStill, strikes } from './run-record.js';
import { SpanIndex } from './span-index.js';

/** Faults that may have cost a process calls, and with them tickets. */
export class Causes {
  readonly #run: RunRecord;
  readonly #costly: SpanIndex<Fault>;

  constructor(run: RunRecord) {
    this.#run = run;
    this.#costly = new SpanIndex(run.faults.filter(({ effects }) => effects.costsTickets));
  }

  /** Whether anything that struck the process may still show at that moment. */
  struck(process: string, at: number): boolean {
    const since = at - (this.#run.life + RECONNECT + SLACK);
    for (const fault of this.#costly.touching(since, at)) {
      if (strikes(fault, process)) return true;
    }
    return stoodStill(this.#run, process, since, at);
  }
}
