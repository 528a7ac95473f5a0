import { NO_LIMIT } from '../backends/protocol.js';

/** What was seen in one step of the last 15 minutes. Times are milliseconds. */
export interface HistoryPoint {
  /** When the step began, on the wall clock. */
  readonly t: number;
  /** Permits held at the last look of the step. */
  readonly held: number;
  /** Requests that waited then. */
  readonly waiting: number;
  /** The limit then; null where it was not known, or where there was none. */
  readonly limit: number | null;
  /** Grants that were seen, per second. */
  readonly grantsPerSecond: number;
  /**
   * Half of the requests granted in this step waited no longer; null where none was seen, or
   * no viewer looked at this semaphore in detail.
   */
  readonly waitP50: number | null;
  /** 99 % of them waited no longer. */
  readonly waitP99: number | null;
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
class History {
  readonly #steps: HistoryPoint[] = [];
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
  steps(now: number): HistoryPoint[] {
    const kept = this.#steps.filter(({ t }) => t >= now - STEP_MS * STEPS);
    return this.#open === undefined ? kept : [...kept, this.#stepOf(this.#open, now)];
  }

  #stepOf({ t, look, grants, waits }: Open, end: number): HistoryPoint {
    const { held, waiting } = look;
    const sorted = waits.toSorted((one, other) => one - other);
    // How long was looked in the step: a second at least, for a rate.
    const span = Math.max(1000, Math.min(end - Math.max(t, this.#since), STEP_MS));
    const grantsPerSecond = (grants * 1000) / span;
    const [waitP50, waitP99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
    return { t, held, waiting, limit: shownLimit(look.limit), grantsPerSecond, waitP50, waitP99 };
  }
}

/** Most semaphores that are remembered; the least recently used are forgotten first. */
const MOST_NAMES = 1000;

/** What was seen of each semaphore in the last 15 minutes. */
export class Histories {
  /** The most recently used are at the end. */
  readonly #histories = new Map<string, History>();

  /**
   * @param now on the wall clock
   * @param inUse whether it has holders, waiters or viewers: without use it gets no history
   */
  add(name: string, now: number, look: Look, inUse: boolean): void {
    const history = this.#histories.get(name) ?? (inUse ? new History() : undefined);
    if (history === undefined) return;
    history.add(now, look);
    if (!inUse) return;
    this.#histories.delete(name);
    this.#histories.set(name, history);
    const [oldest = name] = this.#histories.keys();
    if (this.#histories.size > MOST_NAMES) this.delete(oldest);
  }

  of(name: string, now: number): readonly HistoryPoint[] {
    return this.#histories.get(name)?.steps(now) ?? [];
  }

  delete(name: string): void {
    this.#histories.delete(name);
  }
}

/** Null where it is not known, or where there is none: as a number it would flatten every chart. */
export function shownLimit(limit: number | undefined): number | null {
  return limit === undefined || limit === NO_LIMIT ? null : limit;
}

/** The nearest-rank percentile, of values in order; null where there is none. */
function percentile(sorted: readonly number[], part: number): number | null {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null;
}
