/** What was seen in one step. Times are milliseconds. */
export interface Step {
  /** When the step began, on the wall clock. */
  readonly t: number;
  /** As at the last look of the step. */
  readonly held: number;
  readonly waiting: number;
  readonly limit: number | undefined;
  /** Grants seen in the step, per second. */
  readonly grantsPerSecond: number;
  /** Undefined where no waits were looked at, or none was seen. */
  readonly waitP50: number | undefined;
  readonly waitP99: number | undefined;
}

/** What one look found. */
export interface Look {
  readonly held: number;
  readonly waiting: number;
  readonly limit: number | undefined;
  /** Since the look before. */
  readonly grants: number;
  /**
   * How long the requests had waited that were granted since; left out in a look that cannot say.
   */
  readonly waits?: readonly number[];
}

interface Open {
  readonly t: number;
  look: Look;
  grants: number;
  readonly waits: number[];
}

/** 15 minutes in steps of 5 seconds. */
export const STEP_MS = 5000;
export const STEPS = 180;

/** Waits of one step that are remembered; percentiles of more are those of the first. */
const MOST_WAITS = 2000;

/** What was seen of one semaphore, in steps of one length; a step without a look is left out. */
export class History {
  readonly #steps: Step[] = [];
  #open: Open | undefined;
  #since = Infinity;

  /** `now`: on the wall clock. */
  add(now: number, look: Look): void {
    this.#since = Math.min(this.#since, now);
    const t = now - (now % STEP_MS);
    if (this.#open !== undefined && this.#open.t !== t) {
      this.#steps.push(this.#stepOf(this.#open, this.#open.t + STEP_MS));
      if (this.#steps.length > STEPS) this.#steps.shift();
      this.#open = undefined;
    }
    this.#open ??= { t, look, grants: 0, waits: [] };
    this.#open.look = look;
    this.#open.grants += look.grants;
    const room = MOST_WAITS - this.#open.waits.length;
    this.#open.waits.push(...(look.waits ?? []).slice(0, room));
  }

  /** Oldest first, the step that is not over at the end. */
  steps(now: number): Step[] {
    const kept = this.#steps.filter(({ t }) => t >= now - STEP_MS * STEPS);
    return this.#open === undefined ? kept : [...kept, this.#stepOf(this.#open, now)];
  }

  #stepOf({ t, look, grants, waits }: Open, end: number): Step {
    const { held, waiting, limit } = look;
    const sorted = waits.toSorted((one, other) => one - other);
    // How long was looked in the step: a second at least, for a rate.
    const span = Math.max(1000, Math.min(end - Math.max(t, this.#since), STEP_MS));
    const grantsPerSecond = (grants * 1000) / span;
    const [waitP50, waitP99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
    return { t, held, waiting, limit, grantsPerSecond, waitP50, waitP99 };
  }
}

/** The nearest-rank percentile, of values in order. */
function percentile(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
}
