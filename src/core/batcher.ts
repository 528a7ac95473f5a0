import { CallTimeoutError } from '../time/call-timeout.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant, nextTick } from '../time/clock.js';
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

/** How many calls are under way at once: one runs while the next is on its way. */
const MOST_UNDER_WAY = 2;

/**
 * How long a semaphore whose call was refused stays out of the calls of others, in milliseconds.
 */
const ALONE_MS = 5000;

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

/** What travels in calls. It enters a bundle by itself, and the batcher answers it. */
export interface Item<Verdict> {
  /** It leaves in this call. False when it is no longer wanted: then it stays behind unanswered. */
  leave(call: Call): boolean;
  answer(verdict: Verdict, call: Call): void;
  /** With a `CallTimeoutError` when the call's time is over; an answer may follow. */
  fail(error: unknown, call: Call): void;
}

/** What a bundle belongs to: a semaphore. */
export interface Owner {
  /** The semaphore's, among all of a backend. */
  readonly place: string;
  /** A call has failed, and with its reply the grants that it had for others of this process. */
  onReplyLost(): void;
}

/** What one owner has in one call. */
export interface Part<O, I> {
  readonly owner: O;
  readonly items: readonly I[];
}

/** One of the calls of the backend's port. */
export interface Operation<O, I, R> {
  readonly name: string;
  /** Most ids in a call for several semaphores. */
  readonly mostIds: number;
  /** As how many ids items count in a call for several semaphores. Left out: each as one. */
  weightOf?(items: readonly I[]): number;
  /** Sends one call. Gives a reply for each part, in their order. */
  run(parts: readonly Part<O, I>[]): Promise<readonly R[]>;
  /** How long a call of them may take, in milliseconds. Left out: as the batcher's options say. */
  timeoutOf?(parts: readonly Part<O, I>[]): number;
  /** Takes what a reply says, and answers the items. */
  deliver(part: Part<O, I>, reply: R, call: Call): void;
}

export interface BatcherOptions {
  readonly clock: Clock;
  /** How long one call may take, in milliseconds. */
  readonly callTimeoutMs: number;
  isRetryable(error: unknown): boolean;
}

/** Never written to. */
const NONE: never[] = [];

/** The items of one owner that leave with the next call of a batcher. */
export class Bundle<O extends Owner, I> {
  readonly owner: O;
  #gathered: I[] = NONE;
  readonly #batcher: { gather(bundle: Bundle<O, I>): void };

  constructor(owner: O, batcher: { gather(bundle: Bundle<O, I>): void }) {
    this.owner = owner;
    this.#batcher = batcher;
  }

  get items(): readonly I[] {
    return this.#gathered;
  }

  add(item: I): void {
    // First, for a clock of the user's own may throw.
    if (this.#gathered.length === 0) this.#batcher.gather(this);
    this.#gathered = added(this.#gathered, item);
  }

  /** Takes what has gathered, but for what exceeds `most`. */
  take(most: number): readonly I[] {
    const items = this.#gathered;
    this.#gathered = items.length > most ? items.splice(most) : NONE;
    return items;
  }
}

interface CallUnderWay<O, I> extends Call {
  late: boolean;
  /** Monotonic. */
  deadline: number;
  parts: readonly Part<O, I>[];
  /** It counts towards `MOST_UNDER_WAY`. */
  readonly isShared: boolean;
}

let lastNumber = 0;

/**
 * Calls of one kind that travel together, whatever semaphores they are of: what is added in one
 * turn of the event loop leaves in that turn; while two calls are under way the next one gathers.
 * The client's own promise is the only one of a call, and one timer watches the time limits of all
 * calls.
 *
 * One damaged semaphore makes a shared call fail. So each is then sent again alone, which ids make
 * harmless, and what fails alone stays alone for a while.
 */
export class Batcher<O extends Owner, I extends Item<never>, R> {
  readonly #operation: Operation<O, I, R>;
  readonly #options: BatcherOptions;
  readonly #overdue: Wakeup;
  #gathered: Bundle<O, I>[] = NONE;
  /** Those whose time is not over. */
  #underWay: CallUnderWay<O, I>[] = NONE;
  #shared = 0;
  #flushing = false;
  /** Monotonic times until when semaphores stay alone, the earliest first. */
  readonly #alone = new Map<string, number>();

  constructor(operation: Operation<O, I, R>, options: BatcherOptions) {
    this.#operation = operation;
    this.#options = options;
    this.#overdue = new Wakeup(options.clock, false, () => this.#endOverdue());
  }

  bundleOf(owner: O): Bundle<O, I> {
    return new Bundle<O, I>(owner, this);
  }

  /** @internal A bundle has its first item. */
  gather(bundle: Bundle<O, I>): void {
    this.#flushSoon();
    this.#gathered = added(this.#gathered, bundle);
  }

  // After a reply, too, on the next tick: by then its callers have added what they want next.
  #flushSoon(): void {
    if (this.#flushing || this.#shared >= MOST_UNDER_WAY) return;
    // From now on, so that the timer is kept from call to call.
    const now = this.#options.clock.monotonic();
    this.#overdue.wakeBy(now + this.#options.callTimeoutMs, now);
    this.#flushing = true;
    nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    try {
      while (this.#gathered.length > 0 && this.#shared < MOST_UNDER_WAY) this.#sendNext();
    } catch (error) {
      this.#failGathered(error);
    }
    this.#goOn();
  };

  /** A clock of the user's own has thrown. */
  #failGathered(error: unknown): void {
    const sent = { monotonic: 0, wall: 0 };
    const call = { operation: this.#operation.name, number: 0, sent, late: false };
    const items = this.#gathered.flatMap((bundle) => bundle.take(Infinity));
    this.#gathered = NONE;
    for (const item of items) if (item.leave(call)) item.fail(error, call);
  }

  /** The bundles that have gathered for longest, as many as a call has room for. */
  #sendNext(): void {
    const call = this.#newCall(true);
    const bundles = this.#gathered;
    let parts: Part<O, I>[] = NONE;
    this.#gathered = NONE;
    let ids = 0;
    let taken = 0;
    for (const bundle of bundles) {
      // What leaves alone takes no room from its neighbours.
      const isAlone = this.#isAlone(bundle.owner, call.sent.monotonic);
      const { items } = bundle;
      const weight = isAlone ? 0 : (this.#operation.weightOf?.(items) ?? items.length);
      if (parts.length === MOST_IDS || (ids > 0 && ids + weight > this.#operation.mostIds)) break;
      ids += weight;
      taken += 1;
      const part = isAlone ? this.#sendAlone(bundle) : this.#take(bundle, call);
      if (part !== undefined) parts = added(parts, part);
    }
    if (taken < bundles.length) this.#gathered = [...bundles.slice(taken), ...this.#gathered];
    if (parts.length > 0) this.#send(call, parts);
  }

  #sendAlone(bundle: Bundle<O, I>): undefined {
    const call = this.#newCall(false);
    const part = this.#take(bundle, call);
    if (part !== undefined) this.#send(call, [part]);
  }

  #take(bundle: Bundle<O, I>, call: Call): Part<O, I> | undefined {
    const items = leavingOf(bundle.take(MOST_IDS_OF_ONE), call);
    // Behind the others: a bundle that always has more would keep them from leaving.
    if (bundle.items.length > 0) this.#gathered = added(this.#gathered, bundle);
    return items.length > 0 ? { owner: bundle.owner, items } : undefined;
  }

  #newCall(isShared: boolean): CallUnderWay<O, I> {
    const { clock, callTimeoutMs } = this.#options;
    const sent = instant(clock);
    lastNumber += 1;
    return {
      operation: this.#operation.name,
      number: lastNumber,
      sent,
      late: false,
      deadline: sent.monotonic + callTimeoutMs,
      parts: NONE,
      isShared,
    };
  }

  #send(call: CallUnderWay<O, I>, parts: readonly Part<O, I>[]): void {
    call.parts = parts;
    const timeoutMs = this.#operation.timeoutOf?.(parts);
    if (timeoutMs !== undefined) call.deadline = call.sent.monotonic + timeoutMs;
    this.#underWay = added(this.#underWay, call);
    this.#overdue.wakeBy(call.deadline, call.sent.monotonic);
    if (call.isShared) this.#shared += 1;
    let replies: Promise<readonly R[]>;
    try {
      replies = this.#operation.run(parts);
    } catch (error) {
      // A backend may throw instead of rejecting.
      replies = Promise.reject(error);
    }
    replies.then(
      (all) => this.#onReplies(call, all),
      (error: unknown) => this.#fail(call, error, this.#options.isRetryable(error)),
    );
  }

  /** A reply that its items cannot read keeps no other from its own. */
  #onReplies(call: CallUnderWay<O, I>, replies: readonly R[]): void {
    this.#end(call);
    let place = 0;
    for (const part of call.parts) {
      try {
        const reply = replies[place++];
        if (reply === undefined)
          throw new Error('the backend sent fewer replies than it got calls');
        this.#operation.deliver(part, reply, call);
      } catch (error) {
        if (!call.late) for (const item of part.items) item.fail(error, call);
      }
    }
    this.#goOn();
  }

  /** It waits for no reply any more. */
  #end(call: CallUnderWay<O, I>): void {
    if (call.late) return;
    const isLast = this.#underWay.length === 1;
    this.#underWay = isLast ? NONE : this.#underWay.filter((one) => one !== call);
    if (call.isShared) this.#shared -= 1;
  }

  /** No timer is set while no call is under way. */
  #goOn(): void {
    if (this.#gathered.length > 0) this.#flushSoon();
    else if (this.#underWay.length === 0 && !this.#flushing) this.#overdue.stop();
  }

  #endOverdue(): void {
    const now = this.#options.clock.monotonic();
    for (const call of this.#underWay.filter(({ deadline }) => deadline <= now)) {
      this.#fail(call, new CallTimeoutError(call.deadline - call.sent.monotonic), true);
      call.late = true;
    }
    for (const { deadline } of this.#underWay) this.#overdue.wakeBy(deadline, now);
  }

  /** `passes`: the error says nothing of the semaphores in the call. */
  #fail(call: CallUnderWay<O, I>, error: unknown, passes: boolean): void {
    if (call.late) return;
    this.#end(call);
    // It may have run all the same, and granted what others of this process wait for.
    for (const { owner } of call.parts) owner.onReplyLost();
    const isAlone = call.parts.length === 1;
    for (const part of call.parts) {
      if (!passes && !isAlone) this.#repeat(part, call, error);
      else {
        if (!passes) this.#keepAlone(part.owner);
        for (const item of part.items) item.fail(error, call);
      }
    }
    this.#goOn();
  }

  #repeat({ owner, items }: Part<O, I>, failed: Call, error: unknown): void {
    const call = this.#newCall(false);
    const again = items.filter((item) => {
      const leaves = item.leave(call);
      if (!leaves) item.fail(error, failed);
      return leaves;
    });
    if (again.length > 0) this.#send(call, [{ owner, items: again }]);
  }

  #isAlone({ place }: Owner, now: number): boolean {
    return this.#alone.size > 0 && now < (this.#alone.get(place) ?? -Infinity);
  }

  #keepAlone({ place }: Owner): void {
    const now = this.#options.clock.monotonic();
    this.#alone.delete(place);
    this.#alone.set(place, now + ALONE_MS);
    for (const [other, until] of this.#alone) {
      if (until > now) break;
      this.#alone.delete(other);
    }
  }
}

/** A literal has room for one, where V8 makes room for 17 at a first push. */
function added<T>(list: T[], one: T): T[] {
  if (list.length === 0) return [one];
  list.push(one);
  return list;
}

/** Mostly all leave, and then no copy is made. */
function leavingOf<I extends Item<never>>(items: readonly I[], call: Call): readonly I[] {
  let leaving: I[] | undefined;
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i];
    if (item?.leave(call) !== true) leaving ??= items.slice(0, i);
    else leaving?.push(item);
  }
  return leaving ?? items;
}
