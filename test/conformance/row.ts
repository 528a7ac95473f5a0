import type { Backend, RedisTarget } from '../../src/index.js';
import type { TestServer } from '../support/redis-server.js';

export type Target = RedisTarget | Backend;

/** A need of a case beyond a target. */
export type Ability =
  /** Its data are Redis keys. */
  | 'keys'
  /** Grants are pushed to waiters. */
  | 'push'
  /** Requests wait in one queue, in order, and every process sees it. */
  | 'queue'
  /** `setLimit`, `adopt`, `revoke`, and notes of stripes. */
  | 'operator calls'
  /** `listSemaphores`. */
  | 'listing'
  /** There is one server process, which belongs to the tests. */
  | 'server'
  /** A manual clock, or the `Passage` of `npm run verify`. */
  | 'time';

/**
 * Missing abilities of a row, with reasons. Its title names them, and it leaves out the cases that
 * need them.
 */
export type Lacks = Partial<Record<Ability, string>>;

/** One backend, reached in one way. */
export interface Row {
  readonly title: string;
  readonly lacks: Lacks;
  /** Where time passes on this row alone. */
  readonly passage?: Passage;
  open(): Promise<Place>;
}

/** Where the cases of a row run. */
export interface Place {
  /** Connected; for most semaphores of all cases. */
  readonly target: Target;
  /** The same tickets as another process sees them: over another client. */
  readonly other: Target;
  /** With the ability 'keys'. */
  readonly keys?: KeyView;
  /** The client of this row puts it before each key. */
  readonly keyPrefix?: string;
  /** With the ability 'server'. */
  readonly server?: TestServer;
  /** With the ability 'time'. */
  readonly time?: Passage;
  close(): Promise<void>;
}

/** How time passes in the cases of a row. */
export interface Passage {
  /** How late a timer or a reply may be, in milliseconds. */
  readonly late: number;
  now(): number;
  pass(duration: number): Promise<void>;
  /** The event loop is blocked for so long. */
  stall(duration: number): void;
  /** What `promise` gives, while time passes: so much where time is ours to move. */
  within<T>(duration: number, promise: Promise<T>): Promise<T>;
}

/**
 * Every key that begins so, by its full name, with its milliseconds to live; -1 without expiry.
 */
export type KeyView = (start: string) => Promise<ReadonlyMap<string, number>>;
