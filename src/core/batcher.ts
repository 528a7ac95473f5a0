import { CallTimeoutError } from '../time/call-timeout.js';
import { type Clock, type Instant, instant, nextTick } from '../time/clock.js';
import { Wakeup } from '../time/shared-timer.js';

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

/** How many calls are under way at once: the server runs a call while the next call travels. */
const MOST_UNDER_WAY = 2;

/** A call of the backend, as the items in it know it. */
export interface Call {
  readonly operation: string;
  /** Rises with every call of the process. */
  readonly number: number;
  /** The moment before it left. */
  readonly sent: Instant;
  /** Its time was over before the reply came, and its items have failed. */
  readonly late: boolean;
}

/** A permit that travels in calls: it adds itself to a bundle, and the batcher answers it. */
export interface Item<Verdict> {
  /**
   * It travels in this call, unless it is no longer wanted: then it gives false and gets no answer.
   */
  joinCall(call: Call): boolean;
  answer(verdict: Verdict, call: Call): void;
  /** With a `CallTimeoutError` when the call's time is over; an answer may follow. */
  fail(error: unknown, call: Call): void;
}

/** The semaphore that items belong to. */
export interface Owner {
  /** A call has failed, and with its reply the grants that it had for others of this process. */
  onReplyLost?(error: unknown, sent: Instant): void;
}

/** The items of one owner in one call, or that leave with its next call. Written here alone. */
export interface Share<O, I> {
  readonly owner: O;
  items: I[];
}

/** One of the calls of the backend's port. */
export interface Operation<O, I, R> {
  readonly name: string;
  /** Most ids in a call for several semaphores. Left out: `MOST_IDS`. */
  readonly mostIds?: number;
  /**
   * How many ids the items count as in a call for several semaphores. Left out: an item is an id.
   */
  weightOf?(items: readonly I[]): number;
  /** Sends one call. Gives a reply for each share, in their order. */
  run(shares: readonly Share<O, I>[]): Promise<readonly R[]>;
  /**
   * How long a call of them may take, in milliseconds. Left out: as the batcher's own limit says.
   */
  timeoutOf?(shares: readonly Share<O, I>[]): number;
  /** Takes what a reply says, and answers the items. */
  deliver(share: Share<O, I>, reply: R, call: Call): void;
}

/** The client, or the node, that a batcher sends for. */
export interface BatcherHost {
  readonly clock: Clock;
  isRetryable(error: unknown): boolean;
}

/** Never written to. */
const NONE: never[] = [];

/** The items of one owner in a call. `bundle`: where they had gathered. */
type LeavingShare<O, I> = Share<O, I> & { readonly bundle: Share<O, I> };

interface CallUnderWay<O, I, R> extends Call {
  late: boolean;
  /** For a semaphore that travels alone: it keeps no other call from leaving. */
  isAlone: boolean;
  /** Monotonic. */
  deadline: number;
  shares: LeavingShare<O, I>[];
  replies: Promise<readonly R[]> | undefined;
}

let lastNumber = 0;

/**
 * Calls of one kind that travel together, whatever semaphores they are of: items that are added in
 * one turn of the event loop leave in that turn; while two calls are under way the next call
 * gathers. A call makes no promise beside the client's own, and one timer watches the time limits
 * of all calls.
 *
 * One damaged semaphore makes a shared call fail. Each of its semaphores then travels alone until
 * one of its calls works; its items are sent again, which ids make harmless. All of them at once:
 * where a server has refused calls for a while, thousands of leases must be extended soon.
 */
export class Batcher<O extends Owner, I extends Item<never>, R> {
  readonly #operation: Operation<O, I, R>;
  readonly #host: BatcherHost;
  /** How long one call may take, in milliseconds. */
  readonly #callTimeoutMs: number;
  readonly #overdue: Wakeup;
  #gathered: Share<O, I>[] = NONE;
  /** Calls whose time is not over. */
  #underWay: CallUnderWay<O, I, R>[] = NONE;
  /** How many of them count towards `MOST_UNDER_WAY`. */
  #shared = 0;
  /** The moment before the next calls leave; undefined: none are about to. */
  #leavesAt: Instant | undefined;
  readonly #alone = new WeakSet<O>();

  constructor(host: BatcherHost, callTimeoutMs: number, operation: Operation<O, I, R>) {
    this.#operation = operation;
    this.#host = host;
    this.#callTimeoutMs = callTimeoutMs;
    this.#overdue = new Wakeup(host.clock, false, () => this.#endOverdue());
  }

  add(bundle: Share<O, I>, item: I): void {
    if (bundle.items.length === 0) {
      this.#flushSoon();
      this.#gathered = added(this.#gathered, bundle);
    }
    bundle.items = added(bundle.items, item);
  }

  /** The replies to the calls that are under way for `owner` now. */
  awaitedBy(owner: O): Promise<unknown>[] {
    return this.#underWay.flatMap(({ shares, replies = [] }) =>
      shares.some((share) => share.owner === owner) ? replies : [],
    );
  }

  // After a reply, too, on the next tick: by then its callers have added their next items.
  #flushSoon(): void {
    if (this.#leavesAt !== undefined || this.#shared >= MOST_UNDER_WAY) return;
    // Before the tick: a clock of the user's own may throw.
    const now = instant(this.#host.clock);
    // From now on, so that the timer is kept from call to call.
    this.#overdue.wakeBy(now.monotonic + this.#callTimeoutMs, now.monotonic);
    this.#leavesAt = now;
    nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    const sent = this.#leavesAt ?? instant(this.#host.clock);
    this.#leavesAt = undefined;
    while (this.#gathered.length > 0 && this.#shared < MOST_UNDER_WAY) this.#sendNext(sent);
    this.#goOn();
  };

  /** The bundles that have gathered for longest, as many as a call has room for. */
  #sendNext(sent: Instant): void {
    const call = this.#newCall(sent);
    const bundles = this.#gathered;
    const { mostIds = MOST_IDS } = this.#operation;
    this.#gathered = NONE;
    let ids = 0;
    let taken = 0;
    // By index: an iterator costs a lone pair more.
    for (let bundle = bundles[0]; bundle !== undefined; bundle = bundles[taken]) {
      const { items, owner } = bundle;
      // A semaphore that travels alone fills a call.
      const isAlone = this.#alone.has(owner);
      const weight = isAlone ? mostIds : (this.#operation.weightOf?.(items) ?? items.length);
      if (call.shares.length === MOST_IDS || (ids > 0 && ids + weight > mostIds)) break;
      call.isAlone = isAlone;
      ids += weight;
      taken += 1;
      const leaving = this.#take(bundle, call);
      if (leaving.length > 0) call.shares = added(call.shares, { owner, items: leaving, bundle });
    }
    // At once: to shift each bundle would move a long list as often as it has bundles.
    if (taken < bundles.length) this.#gathered = [...bundles.slice(taken), ...this.#gathered];
    if (call.shares.length > 0) this.#send(call);
  }

  /** The items that leave in `call`: the first of a bundle that are still wanted. */
  #take(bundle: Share<O, I>, call: Call): I[] {
    const { items } = bundle;
    bundle.items = items.length > MOST_IDS_OF_ONE ? items.splice(MOST_IDS_OF_ONE) : NONE;
    // Behind the others: a bundle that always has more would keep them from leaving.
    if (bundle.items.length > 0) this.#gathered = added(this.#gathered, bundle);
    if (items.length > 1) return items.filter((item) => item.joinCall(call));
    // Mostly one, and it is wanted: no other list is made.
    return items[0]?.joinCall(call) === true ? items : NONE;
  }

  #newCall(sent: Instant): CallUnderWay<O, I, R> {
    lastNumber += 1;
    return {
      operation: this.#operation.name,
      number: lastNumber,
      sent,
      late: false,
      isAlone: false,
      deadline: sent.monotonic + this.#callTimeoutMs,
      shares: NONE,
      replies: undefined,
    };
  }

  #send(call: CallUnderWay<O, I, R>): void {
    const timeoutMs = this.#operation.timeoutOf?.(call.shares);
    if (timeoutMs !== undefined) call.deadline = call.sent.monotonic + timeoutMs;
    this.#underWay = added(this.#underWay, call);
    if (!call.isAlone) this.#shared += 1;
    this.#overdue.wakeBy(call.deadline, call.sent.monotonic);
    try {
      call.replies = this.#operation.run(call.shares);
    } catch (error) {
      // A backend may throw instead of rejecting.
      call.replies = Promise.reject(error);
    }
    call.replies.then(
      (all) => this.#onReplies(call, all),
      (error: unknown) => this.#fail(call, error),
    );
  }

  /** A reply that its items cannot read keeps no other from its own. */
  #onReplies(call: CallUnderWay<O, I, R>, replies: readonly R[]): void {
    this.#end(call);
    let index = 0;
    for (const share of call.shares) {
      this.#alone.delete(share.owner);
      try {
        const reply = replies[index++];
        if (reply === undefined)
          throw new Error('the backend sent fewer replies than it got calls');
        this.#operation.deliver(share, reply, call);
      } catch (error) {
        if (call.late) continue;
        for (const item of share.items) item.fail(error, call);
        share.owner.onReplyLost?.(error, call.sent);
      }
    }
    this.#goOn();
  }

  /** It waits for no reply any more. */
  #end(call: CallUnderWay<O, I, R>): void {
    if (call.late) return;
    const isLast = this.#underWay.length === 1;
    this.#underWay = isLast ? NONE : this.#underWay.filter((other) => other !== call);
    if (!call.isAlone) this.#shared -= 1;
  }

  /** No timer is set while no call is under way. */
  #goOn(): void {
    if (this.#gathered.length > 0) this.#flushSoon();
    else if (this.#underWay.length === 0 && this.#leavesAt === undefined) this.#overdue.stop();
  }

  #endOverdue(): void {
    const now = this.#host.clock.monotonic();
    for (const call of this.#underWay.filter(({ deadline }) => deadline <= now)) {
      this.#fail(call, new CallTimeoutError(call.deadline - call.sent.monotonic));
      call.late = true;
    }
    for (const { deadline } of this.#underWay) this.#overdue.wakeBy(deadline, now);
  }

  #fail(call: CallUnderWay<O, I, R>, error: unknown): void {
    if (call.late) return;
    this.#end(call);
    // Trouble that passes is no semaphore's fault.
    const isRefused = !this.#host.isRetryable(error);
    const isRepeated = isRefused && call.shares.length > 1;
    for (const { owner, items, bundle } of call.shares) {
      if (isRefused) this.#alone.add(owner);
      for (const item of items)
        if (isRepeated) this.add(bundle, item);
        else item.fail(error, call);
      // The call may have run all the same, and granted requests that it did not carry.
      owner.onReplyLost?.(error, call.sent);
    }
    this.#goOn();
  }
}

/** A literal has room for one element, where V8 makes room for 17 at a first push. */
function added<T>(list: T[], one: T): T[] {
  if (list.length === 0) return [one];
  list.push(one);
  return list;
}
