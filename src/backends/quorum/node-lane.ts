import type { Clock } from '../../time/clock.js';
import { nextTick } from '../../time/clock.js';
import { CallTimeoutError } from '../../time/call-timeout.js';

/**
 * Permits of several items in one call: a node needs a millisecond or so for them, in which it does
 * nothing else.
 */
const MAX_SHARED_PERMITS = 100;

const MAX_CALLS_UNDER_WAY = 2;

/** How long an item that failed by itself stays out of shared calls. */
const ALONE_MS = 5000;

/** What a call carries for one semaphore. */
export interface LaneItem {
  /** The semaphore. */
  readonly name: string;
  readonly permits: number;
  /** How long its caller waits. */
  readonly timeoutMs: number;
}

export interface LaneOptions<Item, Reply> {
  readonly clock: Clock;
  /**
   * One call. Gives a reply for each item, in their order, or the error that it alone had; rejects
   * where the call failed.
   */
  readonly send: (items: readonly Item[]) => Promise<readonly (Reply | Error)[]>;
  /** Whether an error of a call passes by itself; then no item is the reason. */
  readonly isRetryable: (error: unknown) => boolean;
}

interface Waiting<Item, Reply> {
  readonly item: Item;
  /** Monotonic. */
  readonly deadline: number;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/**
 * What is ready in one turn of the event loop for one node travels in one call. A call without a
 * reply makes room for the next one when the first of its callers stops waiting. What one item may
 * have spoiled is repeated item by item: ids and attempts make that harmless.
 */
export class NodeLane<Item extends LaneItem, Reply> {
  readonly #options: LaneOptions<Item, Reply>;
  #waiting: Waiting<Item, Reply>[] = [];
  /** Monotonic times until which items travel alone, by name; the earliest first. */
  readonly #alone = new Map<string, number>();
  #underWay = 0;
  #isWoken = false;

  constructor(options: LaneOptions<Item, Reply>) {
    this.#options = options;
  }

  /** Settles after the timeout, too, when the reply comes late. */
  add(item: Item): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, deadline: this.#now + item.timeoutMs, resolve, reject });
      this.#wake();
    });
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  /** On the next tick all callers that the same reply woke have added what they want next. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    nextTick(() => {
      this.#isWoken = false;
      this.#flush();
    });
  }

  #flush(): void {
    this.#rejectOverdue();
    while (this.#underWay < MAX_CALLS_UNDER_WAY && this.#waiting.length > 0) {
      void this.#send(this.#waiting.splice(0, this.#nextLength()));
    }
  }

  /** What was never sent cannot run late. */
  #rejectOverdue(): void {
    const now = this.#now;
    const overdue = this.#waiting.filter(({ deadline }) => deadline < now);
    if (overdue.length === 0) return;
    this.#waiting = this.#waiting.filter(({ deadline }) => deadline >= now);
    for (const waiting of overdue) waiting.reject(new CallTimeoutError(waiting.item.timeoutMs));
  }

  /** How many items make the next call: the oldest, in their order. */
  #nextLength(): number {
    let permits = 0;
    let isShared = true;
    const end = this.#waiting.findIndex(({ item }, i) => {
      permits += item.permits;
      isShared &&= !this.#isAlone(item);
      return i > 0 && (permits > MAX_SHARED_PERMITS || !isShared);
    });
    return end < 0 ? this.#waiting.length : end;
  }

  #isAlone({ name }: Item): boolean {
    return (this.#alone.get(name) ?? -Infinity) > this.#now;
  }

  async #send(batch: readonly Waiting<Item, Reply>[]): Promise<void> {
    const makeRoom = this.#takeRoom(Math.min(...batch.map(({ deadline }) => deadline)));
    try {
      const items = batch.map(({ item }) => item);
      const replies = await this.#options.send(items).finally(makeRoom);
      batch.forEach((waiting, i) => settle(waiting, replies[i]));
    } catch (error) {
      this.#onError(batch, error);
    }
  }

  /** Until the function is called that it gives, or until `deadline`. */
  #takeRoom(deadline: number): () => void {
    this.#underWay += 1;
    let isTaken = true;
    const makeRoom = (): void => {
      if (!isTaken) return;
      isTaken = false;
      timer.cancel();
      this.#underWay -= 1;
      // What cannot grow any more leaves at once: the node need not wait until the reply has been
      // dealt with.
      if (this.#nextLength() < this.#waiting.length) this.#flush();
      else this.#wake();
    };
    const timer = this.#options.clock.schedule(makeRoom, deadline - this.#now, false);
    return makeRoom;
  }

  #onError(batch: readonly Waiting<Item, Reply>[], error: unknown): void {
    const isRetryable = this.#options.isRetryable(error);
    if (!isRetryable && batch.length > 1) {
      for (const waiting of batch) void this.#send([waiting]);
      return;
    }
    for (const waiting of batch) {
      if (!isRetryable) this.#keepAlone(waiting.item);
      waiting.reject(error);
    }
  }

  #keepAlone({ name }: Item): void {
    const now = this.#now;
    this.#alone.delete(name);
    this.#alone.set(name, now + ALONE_MS);
    for (const [old, until] of this.#alone) {
      if (until > now) break;
      this.#alone.delete(old);
    }
  }
}

function settle<Reply>(
  waiting: Pick<Waiting<unknown, Reply>, 'resolve' | 'reject'>,
  reply: Reply | Error | undefined,
): void {
  if (reply === undefined || reply instanceof Error) waiting.reject(reply);
  else waiting.resolve(reply);
}
