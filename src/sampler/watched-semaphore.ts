import type { InspectReply, Overview, OverviewReply } from '../backends/backend.js';
import { overviewOf } from '../backends/overview-of.js';
import { GrantsSeen, WaitsSeen } from './grants-seen.js';

/** What both kinds of look say. */
export type Summary = Omit<Overview, 'tokens'>;

/** What a look at one semaphore has found since the look before. */
export interface Found {
  readonly grants: number;
  /** Left out where the look does not say. */
  readonly waits?: readonly number[];
}

const NOTHING: Summary = {
  limit: undefined,
  limitFrom: undefined,
  held: 0,
  waiting: 0,
  oldestWait: undefined,
};

/** One semaphore as it was seen last. Times are of a monotonic clock, in milliseconds. */
export class WatchedSemaphore {
  readonly name: string;
  #summary = NOTHING;
  #detail: InspectReply | undefined;
  #error: string | undefined;
  #seenAt: number | undefined;
  readonly #grants = new GrantsSeen();
  #waits = new WaitsSeen();

  constructor(name: string) {
    this.name = name;
  }

  get summary(): Summary {
    return this.#summary;
  }

  /** Holders and waiters, where the last look was that close. */
  get detail(): InspectReply | undefined {
    return this.#detail;
  }

  /** Why it cannot be read. */
  get error(): string | undefined {
    return this.#error;
  }

  /** When it was looked at last; undefined: never. */
  get seenAt(): number | undefined {
    return this.#seenAt;
  }

  /** Whether it has holders or waiters, or cannot be read. */
  get isHot(): boolean {
    return this.#summary.held + this.#summary.waiting > 0 || this.#error !== undefined;
  }

  /** Whether nothing is stored of it. */
  get isGone(): boolean {
    return !this.isHot && this.#seenAt !== undefined && this.#summary.limit === undefined;
  }

  /** Grants per second that were seen; undefined until two looks were made. */
  rate(now: number): number | undefined {
    return this.#grants.rate(now);
  }

  seeOverview(reply: OverviewReply, now: number): Found {
    // Which requests waited meanwhile is not known.
    this.#waits = new WaitsSeen();
    this.#detail = undefined;
    if ('error' in reply) return this.fail(reply.error, now);
    const { tokens, ...summary } = reply;
    this.#see(summary, now);
    return { grants: this.#grants.newOnes(tokens, now).length };
  }

  seeDetail(reply: InspectReply, now: number): Found {
    this.#see(overviewOf(reply), now);
    this.#detail = reply;
    const tokens = reply.holders.map(({ fencingToken }) => fencingToken);
    const newOnes = this.#grants.newOnes(tokens, now);
    return { grants: newOnes.length, waits: this.#waits.look(reply, now, newOnes) };
  }

  /** It cannot be read. */
  fail(error: string, now: number): Found {
    this.#see(NOTHING, now);
    this.#detail = undefined;
    this.#error = error;
    return { grants: 0 };
  }

  #see(summary: Summary, now: number): void {
    this.#summary = summary;
    this.#error = undefined;
    this.#seenAt = now;
  }
}
