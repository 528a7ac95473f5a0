import type { Reply } from '../backends/backend.js';
import { CallTimeoutError, withTimeout } from '../time/call-timeout.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant, nextTick } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';

/**
 * Most ids, and most semaphores, in one call, so that it keeps the server for no longer than some
 * milliseconds.
 */
export const MOST_IDS = 100;

/**
 * Most ids in a call for one semaphore alone: released in smaller parts, they leave holes between
 * its slots, which cost the server more.
 */
const MOST_IDS_OF_ONE = 1000;

/** How many calls are under way at once: one runs while the next is on its way. */
const MOST_UNDER_WAY = 2;

/** What has one id, on its way to the backend and back. It may travel more than once. */
export interface LaneItem {
  /** Whether it has left since it was last added. */
  sent: boolean;
  /** It is no longer wanted: it leaves no more, and if it never has, it is never answered. */
  cancelled: boolean;
  /**
   * Whether it was sent again, after a call that was refused: that one may have done it all the
   * same.
   */
  repeated: boolean;
}

/** A semaphore object as a lane knows it: what its calls say, and where their replies go. */
export interface Sender<Item, R> {
  readonly terms: CallTerms;
  /** Written by its lanes: what has not left, of the lane that began last to gather for it. */
  gathered: Gathered<Item, R> | undefined;
  /** `late`: its time was over before, and `onFailure` was called. */
  onReply(items: readonly Item[], reply: R, sent: Instant, late: boolean): void;
  /**
   * The call has failed; with a `CallTimeoutError` when its time is over, and then a reply may
   * follow.
   */
  onFailure(items: readonly Item[], error: unknown): void;
}

/** Items of one sender in one call. */
export interface LaneGroup<Item, R> {
  readonly sender: Sender<Item, R>;
  readonly items: readonly Item[];
}

/** What will leave with one of the next calls of a lane. */
interface Gathered<Item, R> extends LaneGroup<Item, R> {
  readonly lane: object;
  readonly items: Item[];
  /** Of the same sender, in another lane: claims of leases travel apart from renewals. */
  other: Gathered<Item, R> | undefined;
}

/** What leaves next: in one call, and each in a call by itself. */
interface Next<Item, R> {
  readonly shared: LaneGroup<Item, R>[];
  readonly alone: LaneGroup<Item, R>[];
}

/** What all lanes of one `TicketCalls` share. */
export interface LaneParts {
  readonly clock: Clock;
  isRetryable(error: unknown): boolean;
}

/**
 * Calls of one kind that travel together, whatever semaphores they are of: what is added in one
 * turn of the event loop leaves in that turn; while two calls are under way the next one gathers.
 *
 * One damaged semaphore makes a shared call fail. So each is then sent again alone, which ids make
 * harmless, and what fails alone stays alone for a while.
 */
export abstract class Lane<Item extends LaneItem, R extends Reply> {
  protected readonly parts: LaneParts;
  /** How long one call may take, in milliseconds. */
  protected readonly limit: number;
  /** Most ids in a call for several semaphores. */
  protected readonly mostIds: number = MOST_IDS;
  /** No Map of senders: see `LinkedList` for what that costs where it fills and empties. */
  readonly #gathered: Gathered<Item, R>[] = [];
  #underWay = 0;
  #flushing = false;

  constructor(parts: LaneParts, limit: number) {
    this.parts = parts;
    this.limit = limit;
  }

  add(sender: Sender<Item, R>, item: Item): void {
    item.sent = false;
    item.cancelled = false;
    let gathered = sender.gathered;
    while (gathered !== undefined && gathered.lane !== this) gathered = gathered.other;
    if (gathered === undefined) this.#gather(sender, [item]);
    else gathered.items.push(item);
    this.#flushSoon();
  }

  #gather(sender: Sender<Item, R>, items: Item[]): void {
    sender.gathered = { lane: this, sender, items, other: sender.gathered };
    this.#gathered.push(sender.gathered);
  }

  protected abstract run(groups: readonly LaneGroup<Item, R>[]): Promise<readonly R[]>;

  /** As how many ids they count in a call for several semaphores. */
  protected weightOf(items: readonly Item[]): number {
    return items.length;
  }

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
      const { shared, alone } = this.#next(now);
      for (const group of alone) void this.#serve([group]);
      if (shared.length > 0) void this.#send(shared);
    }
  };

  /** What the next call has room for: those that gather for longest. */
  #next(now: number): Next<Item, R> {
    const next: Next<Item, R> = { shared: [], alone: [] };
    let [ids, count] = [0, 0];
    for (const gathered of this.#gathered) {
      const { sender } = gathered;
      // One that leaves alone takes no room from its neighbours.
      const isAlone = sender.terms.isAlone(now);
      const weight = isAlone ? 0 : this.weightOf(gathered.items);
      if (ids > 0 && ids + weight > this.mostIds) break;
      count += 1;
      const taken = this.#take(gathered);
      ids += weight;
      const items = taken.some(isCancelled) ? taken.filter(isWanted) : taken;
      for (const item of items) item.sent = true;
      if (items.length > 0) next[isAlone ? 'alone' : 'shared'].push({ sender, items });
      if (next.shared.length === MOST_IDS) break;
    }
    this.#gathered.splice(0, count);
    return next;
  }

  #take(gathered: Gathered<Item, R>): readonly Item[] {
    const { sender, items } = gathered;
    forget(gathered);
    if (items.length <= MOST_IDS_OF_ONE) return items;
    // Behind the others: one that always has more would keep them from leaving.
    this.#gather(sender, items.slice(MOST_IDS_OF_ONE));
    return items.slice(0, MOST_IDS_OF_ONE);
  }

  async #send(groups: readonly LaneGroup<Item, R>[]): Promise<void> {
    this.#underWay += 1;
    // A clock of the user's own may throw.
    await this.#serve(groups).catch((error: unknown) => this.#onError(groups, error));
    this.#underWay -= 1;
    if (this.#gathered.length > 0) this.#flushSoon();
  }

  async #serve(groups: readonly LaneGroup<Item, R>[]): Promise<void> {
    const { clock } = this.parts;
    const sent = instant(clock);
    const call = this.#run(groups);
    let replies: readonly R[];
    try {
      replies = await withTimeout(clock, this.limit, call);
    } catch (error) {
      this.#onError(groups, error);
      // Where only its time was over, a reply may follow.
      void call.then((late) => deliver(groups, late, sent, true)).catch(() => undefined);
      return;
    }
    deliver(groups, replies, sent, false);
  }

  #onError(groups: readonly LaneGroup<Item, R>[], error: unknown): void {
    // It may have run all the same, and granted what others of this process wait for.
    for (const { sender } of groups) sender.terms.onReplyLost();
    const passes = error instanceof CallTimeoutError || this.parts.isRetryable(error);
    if (!passes && groups.length > 1) return this.#repeatEach(groups, error);
    const now = this.parts.clock.monotonic();
    for (const { sender, items } of groups) {
      if (!passes) sender.terms.keepAlone(now);
      sender.onFailure(items, error);
    }
  }

  #repeatEach(groups: readonly LaneGroup<Item, R>[], error: unknown): void {
    for (const { sender, items } of groups) {
      const [wanted, unwanted] = [items.filter(isWanted), items.filter(isCancelled)];
      for (const item of wanted) item.repeated = true;
      if (wanted.length > 0) void this.#serve([{ sender, items: wanted }]);
      if (unwanted.length > 0) sender.onFailure(unwanted, error);
    }
  }

  /** A backend may throw instead of rejecting. */
  async #run(groups: readonly LaneGroup<Item, R>[]): Promise<readonly R[]> {
    return this.run(groups);
  }
}

/**
 * Gives each sender its reply. `sent`: the moment before the call left. A reply that its sender
 * cannot read keeps no other from its own.
 */
export function deliver<Item, R extends Reply>(
  groups: readonly LaneGroup<Item, R>[],
  replies: readonly R[],
  sent: Instant,
  late: boolean,
): void {
  let place = 0;
  for (const { sender, items } of groups) {
    try {
      const reply = replies[place++];
      if (reply === undefined) throw new Error('the backend sent fewer replies than it got calls');
      sender.terms.observe(sent, reply);
      sender.onReply(items, reply, sent, late);
    } catch (error) {
      if (!late) sender.onFailure(items, error);
    }
  }
}

function forget<Item, R>(gathered: Gathered<Item, R>): void {
  const { sender, other } = gathered;
  let before = sender.gathered;
  if (before === gathered) sender.gathered = other;
  while (before !== undefined && before.other !== gathered) before = before.other;
  if (before !== undefined) before.other = other;
}

function isCancelled({ cancelled }: LaneItem): boolean {
  return cancelled;
}

function isWanted({ cancelled }: LaneItem): boolean {
  return !cancelled;
}
