import type { Backend, InspectReply, OverviewReply, SemaphoreKey } from '../backends/backend.js';
import { overviewOf } from '../backends/overview-of.js';
import { INSPECT_PAGE } from '../backends/protocol.js';
import { UnfitServerError } from '../backends/unfit-server.js';
import { describe } from '../error-causes.js';
import { withTimeout } from '../time/call-timeout.js';
import type { Clock } from '../time/clock.js';

/** How long a call may take, in milliseconds; after that the server counts as not reachable. */
const CALL_TIMEOUT_MS = 1500;

/** Most names in a call. */
const TOGETHER = 250;

/** Most calls in any second; the pages of a large semaphore leave at once. */
const CALLS_A_SECOND = 5;

/**
 * Reads semaphores for their viewers, one call after the other, with no more calls in a second than
 * a server may get. A look at many semaphores takes as long as its calls take.
 */
export class CallSource {
  readonly #backend: Backend;
  readonly #prefix: string;
  readonly #clock: Clock;
  /** The times of the last calls. */
  #calledAt: number[] = [];
  #unanswered: Promise<unknown> | undefined;

  constructor(backend: Backend, prefix: string, clock: Clock) {
    this.#backend = backend;
    this.#prefix = prefix;
    this.#clock = clock;
  }

  /**
   * Whether the reply to the last call has not come. A client without a connection keeps every
   * call, and a single call is enough.
   */
  get isUnanswered(): boolean {
    return this.#unanswered !== undefined;
  }

  /** A page of names; undefined if the backend has no list. */
  async names(cursor: string): Promise<{ names: readonly string[]; cursor: string } | undefined> {
    const listNames = this.#backend.listNames?.bind(this.#backend);
    if (listNames === undefined) return undefined;
    return this.#call(() => listNames(this.#prefix, cursor));
  }

  /** Replies for the first names, as many as a call gives. */
  async overview(names: readonly string[]): Promise<readonly OverviewReply[]> {
    const overview = this.#backend.overview?.bind(this.#backend);
    if (overview === undefined) return [await this.#summedUp(names[0] ?? '')];
    const keys = names.slice(0, TOGETHER).map((name) => this.#keyOf(name));
    const replies = await this.#call(() => overview(keys));
    // The sampler would ask a backend without replies for ever.
    if (replies.length === 0) throw new Error('the backend summed up no semaphore');
    return replies;
  }

  /** A limit of 0 in the reply: no process has named a limit. */
  async inspect(name: string): Promise<InspectReply> {
    const call = { key: this.#keyOf(name), limit: 0 };
    const reply = await this.#call(() => this.#backend.inspect(call));
    const pages = Math.floor(Math.max(reply.holders.length, reply.waiting) / INSPECT_PAGE);
    this.#noteCalls(pages);
    return reply;
  }

  async #summedUp(name: string): Promise<OverviewReply> {
    try {
      return overviewOf(await this.inspect(name));
    } catch (error) {
      if (isAnswer(error)) return { error: describe(error) };
      throw error;
    }
  }

  async #call<R>(make: () => Promise<R>): Promise<R> {
    await this.#turn();
    this.#noteCalls(1);
    const call = make();
    const settle = (): void => {
      if (this.#unanswered === call) this.#unanswered = undefined;
    };
    call.then(settle, settle);
    this.#unanswered = call;
    return withTimeout(this.#clock, CALL_TIMEOUT_MS, call);
  }

  /** Resolves when another call may be made. */
  async #turn(): Promise<void> {
    const now = this.#clock.monotonic();
    this.#calledAt = this.#calledAt.filter((at) => at > now - 1000);
    if (this.#calledAt.length < CALLS_A_SECOND) return;
    const free = (this.#calledAt.at(-CALLS_A_SECOND) ?? now) + 1000;
    await new Promise<void>((resolve) => {
      this.#clock.schedule(resolve, free - now, false);
    });
  }

  /** Calls that leave at once count as made one after the other. */
  #noteCalls(count: number): void {
    const now = this.#clock.monotonic();
    const spacing = 1000 / CALLS_A_SECOND;
    const last = Math.max(now, this.#calledAt.at(-1) ?? now);
    for (let i = 0; i < count; i += 1) this.#calledAt.push(count === 1 ? now : last + i * spacing);
  }

  #keyOf(name: string): SemaphoreKey {
    return { prefix: this.#prefix, name };
  }
}

/** Whether the server answered with this error: then only the semaphore cannot be read. */
export function isAnswer(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof UnfitServerError) return false;
  return error.name === 'UnexpectedReplyError' || /^[A-Z]+ /.test(error.message);
}
