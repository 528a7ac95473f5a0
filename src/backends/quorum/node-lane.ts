import type { Item, Owner } from '../../core/batcher.js';
import { Batcher } from '../../core/batcher.js';
import { CallTimeoutError } from '../../time/call-timeout.js';
import type { Clock } from '../../time/clock.js';

/**
 * Permits of several items in one call: a node needs a millisecond or so for them, in which it does
 * nothing else.
 */
const MAX_SHARED_PERMITS = 100;

/** What a call carries for one semaphore. */
export interface LaneItem {
  /** The semaphore. */
  readonly name: string;
  readonly permits: number;
  /** How long its caller waits. */
  readonly timeoutMs: number;
}

export interface LaneOptions<I, Reply> {
  readonly clock: Clock;
  /**
   * One call. Gives a reply for each item, in their order, or the error that it alone had; rejects
   * where the call failed.
   */
  readonly send: (items: readonly I[]) => Promise<readonly (Reply | Error)[]>;
  /** Whether an error of a call passes by itself; then no item is the reason. */
  readonly isRetryable: (error: unknown) => boolean;
}

/**
 * What is ready in one turn of the event loop for one node travels in one call, see `Batcher`. A
 * call without a reply makes room for the next one when the first of its callers stops waiting.
 */
export class NodeLane<I extends LaneItem, Reply> {
  readonly #clock: Clock;
  readonly #batcher: Batcher<NodeCall<I, Reply>, NodeCall<I, Reply>, Reply | Error>;

  constructor({ clock, send, isRetryable }: LaneOptions<I, Reply>) {
    this.#clock = clock;
    this.#batcher = new Batcher(
      {
        name: 'node',
        mostIds: MAX_SHARED_PERMITS,
        weightOf: (calls) => calls.reduce((sum, { item }) => sum + item.permits, 0),
        run: (parts) => send(parts.map(({ owner }) => owner.item)),
        timeoutOf: (parts) => Math.min(...parts.map(({ owner }) => owner.item.timeoutMs)),
        deliver: ({ owner }, reply) => owner.answer(reply),
      },
      { clock, callTimeoutMs: Infinity, isRetryable },
    );
  }

  /** Settles after the timeout, too, when the reply comes late. */
  add(item: I): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const call = new NodeCall(item, this.#clock, resolve, reject);
      this.#batcher.bundleOf(call).add(call);
    });
  }
}

/** One item on its way, and the semaphore that it is of. */
class NodeCall<I extends LaneItem, Reply> implements Item<Reply | Error>, Owner {
  readonly item: I;
  readonly #clock: Clock;
  readonly #deadline: number;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    item: I,
    clock: Clock,
    resolve: (reply: Reply) => void,
    reject: (error: unknown) => void,
  ) {
    this.item = item;
    this.#clock = clock;
    this.#deadline = clock.monotonic() + item.timeoutMs;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get place(): string {
    return this.item.name;
  }

  /** What was never sent cannot run late. */
  leave(): boolean {
    const isWanted = this.#deadline >= this.#clock.monotonic();
    if (!isWanted) this.#reject(new CallTimeoutError(this.item.timeoutMs));
    return isWanted;
  }

  answer(reply: Reply | Error): void {
    if (reply instanceof Error) this.#reject(reply);
    else this.#resolve(reply);
  }

  /** Its caller has a separate time limit, and still takes a reply that is late. */
  fail(error: unknown): void {
    if (!(error instanceof CallTimeoutError)) this.#reject(error);
  }

  onReplyLost(): void {}
}
