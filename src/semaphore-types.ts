import type { InspectReply } from './backends/backend.js';

/** What `inspect` gives: permits held, requests waiting, and their labels. */
export interface SemaphoreState extends InspectReply {
  /** The semaphore's name. */
  readonly name: string;
}

/** A problem to look at; the semaphore keeps working, or still tries to. */
export interface SemaphoreWarning {
  /** What it is, for programs: see the event. */
  readonly code:
    | 'BACKEND_UNREACHABLE'
    | 'EVICTION'
    | 'LIMIT_MISMATCH'
    | 'LOST_UNNOTICED'
    | 'NODE_SET'
    | 'RELEASE_FAILED'
    | 'STORED_LIMIT';
  /** What it is, for people, and what to do. */
  readonly message: string;
  /** The error behind it, if there is one. */
  readonly cause?: unknown;
}

/** Every event and what its listeners get. */
export interface SemaphoreEvents {
  /**
   * `BACKEND_UNREACHABLE`: a request waits in `acquire`, and for 5 s every call has failed or got
   * no reply; waiting continues. Once per outage; `cause` is the last error.
   * `EVICTION`: the server may evict a semaphore's keys. Looked up once, when the first listener is
   * added, if the user has the right to INFO. `LIMIT_MISMATCH`: another process uses the same name
   * with another limit, and none is stored by `setLimit`. `NODE_SET`: on several independent
   * masters, another process uses the nodes in another set. `STORED_LIMIT`: a limit that another
   * object has stored counts instead of the one given to this object. Each of them once.
   * `LOST_UNNOTICED`: the function of `use` ended well, and had not looked at its permit, which was
   * lost meanwhile; each time. `RELEASE_FAILED`: a permit could not be given back at once, and
   * no caller got the error, because `use` gave the result of its function, or the handle was
   * disposed of; each time.
   */
  warning: [warning: SemaphoreWarning];
}

/** Whether a permit was free, and what the function gave. */
export type TryUseResult<T> = TryUseRan<T> | TryUseSkipped;

/** A permit was free and the function has run. */
export interface TryUseRan<T> {
  /** Distinguishes it from the other result. */
  readonly ran: true;
  /** What the function gave. */
  readonly result: T;
}

/** No permit was free, and the function was not called. */
export interface TryUseSkipped {
  /** Distinguishes it from the other result. */
  readonly ran: false;
}

/** What the semaphores of a pool report to, in place of their listeners. */
export interface PoolReports {
  /** A call has succeeded. */
  onReply(): void;
  /** False when no listener gets it. */
  onWarning(warning: SemaphoreWarning): boolean;
}
