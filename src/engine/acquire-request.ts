import { forgetAbort, onceAborted } from '../calling/abort-fanout.js';
import type { Clock } from '../time/clock.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';
import { CallTimeoutError } from '../calling/call-timeout.js';

export type RequestState =
  /** Its next call is gathering or under way. */
  | 'sent'
  /** The backend has it in its queue, or its last call failed: asked again with the next try. */
  | 'waiting'
  /** It became a lease, or was refused. */
  | 'settled'
  /** Timed out, aborted, failed or closed: whatever the backend holds for it is withdrawn. */
  | 'abandoned';

export interface AcquireParams {
  readonly permits: number;
  /** False: one try, no queueing. */
  readonly wait: boolean;
  /** Milliseconds until it is given up; Infinity: never. */
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** Who made a request, and has `O` to remember of each. */
export interface RequestOwner<O = unknown> {
  onGranted(request: AcquireRequest<O>, lease: Lease): void;
  onRefused(request: AcquireRequest<O>): void;
  onFailed(request: AcquireRequest<O>, error: unknown): void;
  onOverdue(request: AcquireRequest<O>): void;
  onAborted(request: AcquireRequest<O>, reason: unknown): void;
}

/** After how long a call without a reply counts as a sign of trouble, in milliseconds. */
const SILENCE = 50;

/** One call of `acquire` or `tryAcquire` on its way to a permit. */
export class AcquireRequest<O = unknown> implements Linked<AcquireRequest> {
  readonly id: string;
  readonly ask: AcquireParams;
  readonly outcome: O;
  /** Monotonic times at which it was made, and after which nobody wants it. */
  readonly started: number;
  readonly deadline: number;
  state: RequestState = 'sent';
  arrival: number | undefined = undefined;
  /** Whether a reply has told that it waits. */
  queued = false;
  attempts = 0;
  /** The number of its last call among those of its wait loop. */
  call = 0;
  /** Monotonic time of its last call. */
  sentAt = 0;
  lastError: unknown = undefined;
  /** The lease it became: a call that ran twice grants it twice. */
  lease: Lease | undefined = undefined;
  /** Its neighbours among those of its wait loop. */
  previous: AcquireRequest | undefined = undefined;
  next: AcquireRequest | undefined = undefined;
  list: object | undefined = undefined;
  readonly owner: RequestOwner<O>;
  readonly #onAbort: (() => void) | undefined;

  constructor(id: string, ask: AcquireParams, clock: Clock, owner: RequestOwner<O>, outcome: O) {
    const { timeout, signal } = ask;
    this.id = id;
    this.ask = ask;
    this.started = clock.monotonic();
    this.deadline = this.started + timeout;
    this.owner = owner;
    this.outcome = outcome;
    if (signal !== undefined) {
      this.#onAbort = () => owner.onAborted(this, signal.reason);
      onceAborted(signal, this.#onAbort);
    }
  }

  get permits(): number {
    return this.ask.permits;
  }

  get wait(): boolean {
    return this.ask.wait;
  }

  get pending(): boolean {
    return this.state === 'sent' || this.state === 'waiting';
  }

  grant(lease: Lease): void {
    this.#end('settled');
    this.lease = lease;
    this.owner.onGranted(this, lease);
  }

  refuse(): void {
    this.#end('settled');
    this.owner.onRefused(this);
  }

  /** The backend holds nothing for it, and never will. */
  fail(error: unknown): void {
    this.#end('settled');
    this.owner.onFailed(this, error);
  }

  abandon(error: unknown): void {
    this.#end('abandoned');
    this.owner.onFailed(this, error);
  }

  /** Ends as when its time is over. */
  giveUp(): void {
    this.owner.onOverdue(this);
  }

  /** Why it did not succeed so far, if not for lack of permits; `now`: monotonic time. */
  trouble(now: number): unknown {
    if (this.lastError !== undefined) return this.lastError;
    const waited = now - this.sentAt;
    const unanswered = this.state === 'sent' && this.attempts > 0;
    const silent = unanswered && (!this.queued || waited >= SILENCE);
    return silent ? new CallTimeoutError(waited) : undefined;
  }

  #end(state: RequestState): void {
    this.state = state;
    const { signal } = this.ask;
    if (signal !== undefined && this.#onAbort !== undefined) forgetAbort(signal, this.#onAbort);
  }
}
