import { NO_LIMIT } from '../backends/protocol.js';

/** A step of the last 15 minutes. Times are milliseconds. */
export interface HistoryPoint {
  /** When the step began, on the wall clock. */
  readonly t: number;
  /** Permits held at the last look of the step. */
  readonly held: number;
  /** Requests that waited at that look. */
  readonly waiting: number;
  /** The limit at that look; null if it was not known, or if there was no limit. */
  readonly limit: number | null;
  /** Grants per second. */
  readonly grantsPerSecond: number;
  /**
   * Half of the requests granted in this step waited no longer; null if no grant was seen, or if no
   * viewer showed this semaphore in detail.
   */
  readonly waitP50: number | null;
  /** 99 % of them waited no longer. */
  readonly waitP99: number | null;
}

/** The numbers that a look found. */
export interface Look {
  readonly held: number;
  readonly waiting: number;
  readonly limit: number | undefined;
  /** Grants since the look before. */
  readonly grants: number;
  /** How long each request waited that was granted since; left out if the look cannot say. */
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

/** Most waits that a step remembers; its percentiles leave later waits out. */
const MOST_WAITS = 2000;

/** The history of a semaphore, in steps of one length; a step without a look is left out. */
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

  /** The steps, oldest first; the last step is not over. */
  steps(now: number): HistoryPoint[] {
    const kept = this.#steps.filter(({ t }) => t >= now - STEP_MS * STEPS);
    return this.#open === undefined ? kept : [...kept, this.#stepOf(this.#open, now)];
  }

  #stepOf({ t, look, grants, waits }: Open, end: number): HistoryPoint {
    const { held, waiting } = look;
    const sorted = waits.toSorted((one, other) => one - other);
    // The watched time of the step: at least a second, for a rate.
    const span = Math.max(1000, Math.min(end - Math.max(t, this.#since), STEP_MS));
    const grantsPerSecond = (grants * 1000) / span;
    const [waitP50, waitP99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
    return { t, held, waiting, limit: shownLimit(look.limit), grantsPerSecond, waitP50, waitP99 };
  }
}

/** Most semaphores that are remembered; the least recently used is forgotten first. */
const MOST_NAMES = 1000;

/** The history of each semaphore in the last 15 minutes. */
export class Histories {
  /** The most recently used is last. */
  readonly #histories = new Map<string, History>();

  /**
   * @param now on the wall clock
   * @param inUse whether the semaphore has holders, waiters or viewers: without use it gets no
   *   history
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

/** Null if there is no limit: its number would flatten every chart. Null also if it is unknown. */
export function shownLimit(limit: number | undefined): number | null {
  return limit === undefined || limit === NO_LIMIT ? null : limit;
}

/** The nearest-rank percentile of sorted values; null without values. */
function percentile(sorted: readonly number[], part: number): number | null {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null;
}
