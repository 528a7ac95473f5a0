import type { Ticket } from './backends/backend.js';
import type { LostReason } from './errors.js';

/**
 * The fields of every message: the semaphore's name, and the ticket's id if the message is about a
 * ticket. Times are milliseconds.
 */
interface About {
  /** The semaphore's name. */
  readonly name: string;
  /** The ticket's id. */
  readonly id: string;
}

/**
 * Context of the tracing channel `redsem:acquire`. `result` or `error` is added when the call has
 * ended.
 */
export interface AcquireContext extends Pick<About, 'name'> {
  /** How many permits it asks for. */
  readonly permits: number;
  /** Undefined for `tryAcquire` and for a try for several semaphores; Infinity: no limit. */
  readonly timeout: number | undefined;
}

/** `redsem:wait`: no permit was free, the request waits. */
export type WaitMessage = About & Pick<AcquireContext, 'permits'>;

/** `redsem:queue`: how many requests of one `Semaphore` object have no result yet. */
export interface QueueMessage extends Pick<About, 'name'> {
  /** Requests of that object alone: objects of the same name report separately. */
  readonly waiting: number;
}

/** `redsem:grant` */
export interface GrantMessage extends About, Ticket {
  /** Milliseconds since the call of `acquire`. */
  readonly waited: number;
  /** How many times the backend was asked; 0: the ticket was adopted. */
  readonly attempts: number;
}

/** `redsem:extend`: an extension was confirmed, or failed and is tried again. */
export interface ExtendMessage extends About {
  /** Why the extension failed; undefined: it was confirmed. */
  readonly error: unknown;
}

/** `redsem:lost` */
export interface LostMessage extends About {
  /** As `HandleLostError.reason`. */
  readonly reason: LostReason;
  /** Milliseconds since the grant. */
  readonly heldFor: number;
}

/**
 * `redsem:release`: a call of `handle.release()` has ended, also for a handle that was lost before.
 */
export interface ReleaseMessage extends About {
  /** The result of `handle.release()`. */
  readonly released: boolean;
  /** Milliseconds from the grant to the call. */
  readonly heldFor: number;
  /** Why the handle was lost before the call, if it was. */
  readonly lost: LostReason | undefined;
  /** How long the holder continued after its ticket was gone or had expired; 0: not at all. */
  readonly overrun: number;
  /** Why `release()` rejected, if it did; it is still retried in the background. */
  readonly error: unknown;
}

/**
 * `redsem:drop`: a handle was garbage collected without `release()`; its ticket will expire.
 */
export type DropMessage = About;

/** `redsem:mismatch`: another process uses the name with another limit. */
export interface MismatchMessage extends Pick<About, 'name'> {
  /** The limit of this object. */
  readonly limit: number;
  /** The limit of the other process. */
  readonly otherLimit: number;
}
