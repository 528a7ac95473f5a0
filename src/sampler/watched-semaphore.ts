import type { InspectReply, Overview, OverviewReply } from '../backends/backend.js';
import { overviewOf } from '../backends/overview-of.js';
import { type Arrivals, arrivalsOf, GrantsSeen, waitOf } from './grants-seen.js';

/** The numbers that both kinds of look give. */
export type Summary = Omit<Overview, 'tokens'>;

/** The grants that a look has found since the look before. */
export interface Found {
  readonly grants: number;
  /** Left out if the look cannot say. */
  readonly waits?: readonly number[];
}

const NOTHING: Summary = {
  limit: undefined,
  limitFrom: undefined,
  held: 0,
  waiting: 0,
  oldestWait: undefined,
};

/** A semaphore as the last look found it. Times are milliseconds of a monotonic clock. */
export class WatchedSemaphore {
  readonly name: string;
  summary: Summary = NOTHING;
  /** Holders and waiters, if the last look was close. */
  detail: InspectReply | undefined;
  /** The reason if the semaphore cannot be read. */
  error: string | undefined;
  /** The time of the last look; undefined: none. */
  seenAt: number | undefined;
  readonly grants: GrantsSeen;
  /** Undefined: the last look did not show which requests waited. */
  #arrivals: Arrivals | undefined;

  /** `interval`: milliseconds between two looks. */
  constructor(name: string, interval = 0) {
    this.name = name;
    this.grants = new GrantsSeen(interval);
  }

  /** Whether it has holders or waiters, or cannot be read. */
  get isHot(): boolean {
    return this.summary.held + this.summary.waiting > 0 || this.error !== undefined;
  }

  /** Whether the server stores nothing of it. */
  get isGone(): boolean {
    return !this.isHot && this.seenAt !== undefined && this.summary.limit === undefined;
  }

  seeOverview(reply: OverviewReply, now: number): Found {
    this.#arrivals = undefined;
    if ('error' in reply) return this.fail(reply.error, now);
    const { tokens, ...summary } = reply;
    this.#see(now, summary);
    return { grants: this.grants.newTokens(tokens, now).length };
  }

  seeDetail(reply: InspectReply, now: number): Found {
    this.#see(now, overviewOf(reply), reply);
    const tokens = reply.holders.map(({ fencingToken }) => fencingToken);
    const newTokens = new Set(this.grants.newTokens(tokens, now));
    const granted = reply.holders.filter(({ fencingToken }) => newTokens.has(fencingToken));
    const before = this.#arrivals;
    this.#arrivals = arrivalsOf(reply, now);
    const waits = before && granted.map((holder) => waitOf(holder, before, now));
    return { grants: newTokens.size, waits: waits ?? [] };
  }

  /** The semaphore cannot be read. */
  fail(error: string, now: number): Found {
    this.#see(now, NOTHING, undefined, error);
    return { grants: 0 };
  }

  #see(now: number, summary: Summary, detail?: InspectReply, error?: string): void {
    this.summary = summary;
    this.detail = detail;
    this.error = error;
    this.seenAt = now;
  }
}
