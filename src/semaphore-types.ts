import type { InspectReply } from './backends/backend.js';

/** The result of `inspect`: permits held, requests waiting, and their labels. */
export interface SemaphoreState extends InspectReply {
  /** The semaphore's name. */
  readonly name: string;
}

/** A problem that needs your attention. The semaphore keeps working, or keeps trying. */
export interface SemaphoreWarning {
  /** The kind of problem, for programs: see the event `warning`. */
  readonly code:
    | 'BACKEND_UNREACHABLE'
    | 'EVICTION'
    | 'LIMIT_MISMATCH'
    | 'LOST_UNNOTICED'
    | 'NODE_SET'
    | 'RELEASE_FAILED'
    | 'STORED_LIMIT';
  /** The problem and what to do about it, in words. */
  readonly message: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
}

/** Every event and what its listeners get. */
export interface SemaphoreEvents {
  /**
   * `BACKEND_UNREACHABLE`: a request waits, and for 5 s every call for it has failed or got no
   * reply. The request keeps waiting. Once per outage; `cause` is the last error.
   * `EVICTION`: the server may evict a semaphore's keys. redsem asks once, when the first listener
   * is added, if the user has the right `+info`. `LIMIT_MISMATCH`: another process uses the same
   * name with another limit, and `setLimit` has stored no limit. `NODE_SET`: on several independent
   * masters, another process uses the nodes in another set. `STORED_LIMIT`: another object has
   * stored a limit, which counts instead of this object's limit. An object emits `EVICTION`,
   * `LIMIT_MISMATCH`, `NODE_SET` and `STORED_LIMIT` once.
   * `LOST_UNNOTICED`: the function of `use` ended without an error and never checked its permit,
   * which was lost meanwhile; each time. `RELEASE_FAILED`: a release failed, and no caller got the
   * error, because `use` gave the result of its function, or `await using` ended the block; each
   * time.
   */
  warning: [warning: SemaphoreWarning];
}

/** Whether a permit was free, and the result of the function. */
export type TryUseResult<T> = TryUseRan<T> | TryUseSkipped;

/** A permit was free and the function has run. */
export interface TryUseRan<T> {
  /** Distinguishes it from the other result. */
  readonly ran: true;
  /** The result of the function. */
  readonly result: T;
}

/** No permit was free, and the function was not called. */
export interface TryUseSkipped {
  /** Distinguishes it from the other result. */
  readonly ran: false;
}

/** Gets the reports of the semaphores of a pool, in place of their listeners. */
export interface PoolReports {
  /** A call has succeeded. */
  onReply(): void;
  /** False when no listener gets it. */
  onWarning(warning: SemaphoreWarning): boolean;
}
