import type {
  QueuedVerdict,
  QueueProgress,
  RequestOrder,
  SemaphoreKey,
} from '../backends/backend.js';
import { forgetAbort, onceAborted } from '../calling/abort-fanout.js';
import type { AcquireItem } from '../calling/acquire-lane.js';
import { CallTimeoutError } from '../time/call-timeout.js';
import { AcquireTimeoutError, BackendError } from '../errors.js';
import type { Lease } from './lease.js';
import type { Linked } from './linked-list.js';

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
  /**
   * What the caller allowed, in milliseconds; Infinity: no limit; 0: one try. Undefined: one try
   * whose refusal is no error.
   */
  readonly timeout: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Left out: priority 0, no group. */
  readonly order?: RequestOrder | undefined;
  /** Hears how long it may have to wait. */
  readonly onWaiting?: ((progress: QueueProgress) => void | Promise<void>) | undefined;
}

/** What errors say of the semaphore. */
interface RequestTerms {
  readonly key: SemaphoreKey;
  /** As of the last reply. */
  readonly limit: number;
}

export function acquiringFailed(key: SemaphoreKey, cause: unknown): BackendError {
  const what = `acquiring a permit of ${JSON.stringify(key.name)} failed`;
  return new BackendError(what, cause, key);
}

/** After how long a call without a reply counts as a sign of trouble, in milliseconds. */
const SLOW_CALL_MS = 50;

/** `onWaiting` is called at most that often, in milliseconds. */
const REPORT_EVERY_MS = 1000;

/** One call of `acquire` or `tryAcquire` on its way to a permit. */
export class AcquireRequest implements AcquireItem, Linked<AcquireRequest> {
  readonly id: string;
  readonly params: AcquireParams;
  /** Undefined: refused, which is an answer to `tryAcquire`. */
  readonly outcome: Promise<Lease | undefined>;
  /** Monotonic times at which it was made, and after which nobody wants it. */
  readonly started: number;
  readonly deadline: number;
  state: RequestState = 'sent';
  arrival: number | undefined = undefined;
  /** How many calls were made for it. */
  attempts = 0;
  /** Asked again as soon as its call is answered: the answer may be older than a grant. */
  resend = false;
  lastError: unknown = undefined;
  /** The lease it became: a call that ran twice grants it twice. */
  lease: Lease | undefined = undefined;
  /** Its neighbours among those of its wait loop. */
  previous: AcquireRequest | undefined = undefined;
  next: AcquireRequest | undefined = undefined;
  list: object | undefined = undefined;
  sent = false;
  cancelled = false;
  repeated = false;
  /** What its inbox had seen when its last call left. */
  healthSeen = 0;
  /** What its `onWaiting` heard last, and when. */
  progress: QueueProgress | undefined = undefined;
  #reportedAt = -Infinity;
  /** What its `onWaiting` threw. */
  listenerError: unknown = undefined;
  #queued = false;
  /** Monotonic time of its last call. */
  sentAt = 0;
  #onAbort: (() => void) | undefined;
  #onEnded: ((reason: unknown) => void) | undefined;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;

  /** `patience`: how long a single try may take, in milliseconds. */
  constructor(id: string, params: AcquireParams, now: number, patience: number) {
    this.id = id;
    this.params = params;
    this.started = now;
    this.deadline = now + (this.wait ? (params.timeout ?? 0) : patience);
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get permits(): number {
    return this.params.permits;
  }

  get order(): RequestOrder | undefined {
    return this.params.order;
  }

  get asksProgress(): boolean {
    return this.params.onWaiting !== undefined;
  }

  get wait(): boolean {
    return this.params.timeout !== undefined && this.params.timeout > 0;
  }

  get pending(): boolean {
    return this.state === 'sent' || this.state === 'waiting';
  }

  /** Its signal, or an async `onWaiting` that rejects, has ended it. */
  onAbort(listener: (reason: unknown) => void): void {
    const { signal } = this.params;
    this.#onEnded = listener;
    if (signal === undefined) return;
    this.#onAbort = () => listener(signal.reason);
    onceAborted(signal, this.#onAbort);
  }

  onSend(now: number): void {
    this.state = 'sent';
    this.sentAt = now;
    this.attempts += 1;
  }

  /** The call under way was answered, or has failed. */
  onReply(): void {
    if (this.state === 'sent') this.state = 'waiting';
  }

  queue({ arrival, progress }: QueuedVerdict, now: number): void {
    this.#queued = true;
    this.arrival = arrival;
    const { onWaiting } = this.params;
    if (onWaiting === undefined || progress === undefined) return;
    const { position, waiting } = progress;
    const isNews = this.progress?.position !== position || this.progress.waiting !== waiting;
    if (!isNews || now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.progress = progress;
    this.#reportedAt = now;
    try {
      const given: unknown = onWaiting(progress);
      // Not for every value: a promise costs as much as the rest of a call.
      if (typeof given === 'object' && given !== null) {
        Promise.resolve(given).catch((error: unknown) => this.#onEnded?.(thrown(error)));
      }
    } catch (error) {
      this.listenerError = thrown(error);
    }
  }

  grant(lease: Lease): void {
    this.lease = lease;
    this.#end('settled');
    this.#resolve(lease);
  }

  refuse(terms: RequestTerms, now: number): void {
    this.#end('settled');
    if (this.params.timeout === undefined) this.#resolve(undefined);
    else this.#reject(this.timeoutError(terms, now));
  }

  /** The backend holds nothing for it, and never will. */
  fail(error: unknown): void {
    this.#end('settled');
    this.#reject(error);
  }

  abandon(error: unknown): void {
    this.#end('abandoned');
    this.cancelled = true;
    this.#reject(error);
  }

  /** Whether the backend may have heard of it. */
  get wasSent(): boolean {
    return this.attempts > 1 || this.sent;
  }

  timeoutError({ key, limit }: RequestTerms, now: number): Error {
    const { timeout } = this.params;
    const trouble = this.#trouble(now);
    if (timeout === undefined) return acquiringFailed(key, trouble);
    const attempts = this.attempts > 0 && !this.sent ? this.attempts - 1 : this.attempts;
    const waited = now - this.started;
    const { name } = key;
    return new AcquireTimeoutError({ name, timeout, waited, attempts, limit }, trouble);
  }

  /** Why it did not succeed so far, if not for lack of permits. */
  #trouble(now: number): unknown {
    if (this.lastError !== undefined) return this.lastError;
    const waited = now - this.sentAt;
    const unanswered = this.state === 'sent' && this.wasSent;
    const silent = unanswered && (!this.#queued || waited >= SLOW_CALL_MS);
    return silent ? new CallTimeoutError(waited) : undefined;
  }

  #end(state: RequestState): void {
    this.state = state;
    const { signal } = this.params;
    if (signal !== undefined && this.#onAbort !== undefined) forgetAbort(signal, this.#onAbort);
  }
}

/** Undefined would be no error. */
function thrown(error: unknown): unknown {
  return error ?? new Error('onWaiting threw nothing');
}
