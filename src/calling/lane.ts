import type { Reply } from '../backends/backend.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant, nextTick } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';
import { CallTimeoutError, withTimeout } from '../time/call-timeout.js';

/** Most ids in one call, so that it keeps the server for no longer than some milliseconds. */
export const MOST_IDS = 100;

/** Most ids in a call for one semaphore alone: released in smaller parts, they leave holes between its slots, which cost the server more. */
const MOST_IDS_OF_ONE = 1000;

/** How many calls are under way at once: one runs while the next is on its way. */
const MOST_UNDER_WAY = 2;

/** What a lane knows of its items. */
export interface Sendable {
  readonly terms: CallTerms;
  sent: boolean;
  repeated: boolean;
  readonly cancelled: boolean;
  reject(error: unknown): void;
}

/** What has one id, on its way to the backend and back. */
export class LaneItem<Answer> implements Sendable {
  readonly terms: CallTerms;
  /** Rejects when the call fails, with a `CallTimeoutError` when its time is over. */
  readonly answer: Promise<Answer>;
  /** Whether it has left. */
  sent = false;
  /** Whether it was sent again, after a call that was refused: that one may have done it all the same. */
  repeated = false;
  cancelled = false;
  resolve!: (answer: Answer) => void;
  reject!: (error: unknown) => void;

  constructor(terms: CallTerms) {
    this.terms = terms;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** It is no longer wanted: if it has not left, it never does, and is never answered. */
  cancel(): void {
    this.cancelled = !this.sent;
  }

  /** The answer that comes after its time was over, if it comes. */
  late(): Promise<Answer> {
    return new Promise((resolve) => {
      this.resolve = resolve;
      this.reject = () => undefined;
    });
  }
}

/** Items of one semaphore object in one call. */
export interface LaneGroup<Item> {
  readonly terms: CallTerms;
  readonly items: Item[];
}

/** What all lanes of one `TicketCalls` share. */
export interface LaneParts {
  readonly clock: Clock;
  isRetryable(error: unknown): boolean;
}

/**
 * Calls of one kind that travel together, whatever semaphores they are of: what is added in one turn of the event loop
 * leaves in that turn; while two calls are under way the next one gathers.
 *
 * One damaged semaphore makes a shared call fail. So each is then sent again alone, which ids make harmless, and what
 * fails alone stays alone for a while.
 */
export abstract class Lane<Item extends Sendable, R extends Reply> {
  protected readonly parts: LaneParts;
  /** How long one call may take, in milliseconds. */
  protected readonly limit: number;
  #gathered: Item[] = [];
  #underWay = 0;
  #flushing = false;

  constructor(parts: LaneParts, limit: number) {
    this.parts = parts;
    this.limit = limit;
  }

  /** Whether nothing gathers and nothing is under way. */
  get idle(): boolean {
    return this.#underWay === 0 && this.#gathered.length === 0;
  }

  add(item: Item): void {
    this.#gathered.push(item);
    this.#flushSoon();
  }

  protected abstract run(groups: readonly LaneGroup<Item>[]): Promise<readonly R[]>;

  protected abstract settle(items: readonly Item[], reply: R, sent: Instant): void;

  // After a reply, too, on the next tick: by then its callers have added what they want next.
  #flushSoon(): void {
    if (this.#flushing || this.#underWay >= MOST_UNDER_WAY) return;
    this.#flushing = true;
    nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    const now = this.parts.clock.monotonic();
    while (this.#gathered.length > 0 && this.#underWay < MOST_UNDER_WAY) {
      const shared: LaneGroup<Item>[] = [];
      for (const group of grouped(this.#next())) {
        if (group.terms.isAlone(now)) void this.#serve([group]);
        else shared.push(group);
      }
      if (shared.length > 0) void this.#send(shared);
    }
  };

  #next(): Item[] {
    const most = this.#isOfOne() ? MOST_IDS_OF_ONE : MOST_IDS;
    if (this.#gathered.length > most) return this.#gathered.splice(0, most);
    const items = this.#gathered;
    this.#gathered = [];
    return items;
  }

  /** Whether the next that gather are of one semaphore. */
  #isOfOne(): boolean {
    const terms = this.#gathered[0]?.terms;
    return this.#gathered.slice(0, MOST_IDS_OF_ONE).every((item) => item.terms === terms);
  }

  async #send(groups: readonly LaneGroup<Item>[]): Promise<void> {
    this.#underWay += 1;
    await this.#serve(groups);
    this.#underWay -= 1;
    if (this.#gathered.length > 0) this.#flushSoon();
  }

  async #serve(groups: readonly LaneGroup<Item>[]): Promise<void> {
    const { clock } = this.parts;
    const sent = instant(clock);
    const call = this.#run(groups);
    try {
      this.#settle(groups, await withTimeout(clock, this.limit, call), sent);
    } catch (error) {
      if (error instanceof CallTimeoutError) {
        this.#reject(groups, error);
        void call.then((replies) => this.#settle(groups, replies, sent)).catch(() => undefined);
      } else if (this.parts.isRetryable(error)) this.#reject(groups, error);
      else if (groups.length > 1) this.#repeatEach(groups);
      else {
        for (const { terms } of groups) terms.keepAlone(clock.monotonic());
        this.#reject(groups, error);
      }
    }
  }

  #repeatEach(groups: readonly LaneGroup<Item>[]): void {
    for (const group of groups) {
      for (const item of group.items) item.repeated = true;
      void this.#serve([group]);
    }
  }

  /** A backend may throw instead of rejecting. */
  async #run(groups: readonly LaneGroup<Item>[]): Promise<readonly R[]> {
    return this.run(groups);
  }

  #settle(groups: readonly LaneGroup<Item>[], replies: readonly R[], sent: Instant): void {
    groups.forEach(({ terms, items }, i) => {
      const reply = replies[i];
      if (reply === undefined) throw new Error('the backend sent fewer replies than it got calls');
      terms.observe(sent, reply);
      this.settle(items, reply, sent);
    });
  }

  #reject(groups: readonly LaneGroup<Item>[], error: unknown): void {
    for (const { items } of groups) for (const item of items) item.reject(error);
  }
}

function grouped<Item extends Sendable>(items: readonly Item[]): LaneGroup<Item>[] {
  const groups = new Map<CallTerms, LaneGroup<Item>>();
  for (const item of items) {
    if (item.cancelled) continue;
    item.sent = true;
    const { terms } = item;
    const group = groups.get(terms);
    if (group === undefined) groups.set(terms, { terms, items: [item] });
    else group.items.push(item);
  }
  return [...groups.values()];
}
