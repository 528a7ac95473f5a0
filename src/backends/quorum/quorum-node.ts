import type { SemaphoreKey } from '../backend.js';

/**
 * The port to one of the independent masters. To a node a semaphore is numbered slots, each free or
 * held by one ticket until a time on the node's own clock. Each call takes many tickets. Times and
 * durations are milliseconds, times are on the node's clock.
 */
export interface QuorumNode {
  /** What every process calls it, where that can be reported from its client. */
  readonly name?: string | undefined;
  /** Gives tickets slots, renews tickets, and puts them where a majority wants them. */
  hold(call: HoldCall): Promise<HoldReply>;
  /** Gives tickets back: compare-and-delete by id and attempt. */
  drop(call: DropCall): Promise<DropReply>;
  /** Every live ticket of a semaphore. */
  list(key: SemaphoreKey): Promise<ListReply>;
  /** Whether trying again on this node can help. */
  isRetryable(error: unknown): boolean;
  /** What is set on the node so that it endangers the tickets, if that can be reported. */
  findHazard?(key: SemaphoreKey): Promise<string | undefined>;
}

export interface CallTiming {
  /** Time on the node's clock after which the call must change nothing. */
  readonly notAfter: number | undefined;
  /** How long the caller waits for the reply. Left out: as long as for any node. */
  readonly timeoutMs?: number | undefined;
}

/** The semaphore that tickets are of, and how long they live. */
export interface Terms {
  readonly key: SemaphoreKey;
  readonly limit: number;
  readonly ttl: number;
}

/** Its requests are all of mode `take`, or none is. */
export interface HoldCall extends Terms, CallTiming {
  /** Left out where the caller's nodes have no names. */
  readonly claim?: SetClaim | undefined;
  readonly requests: readonly HoldRequest[];
}

/** The set of nodes that the caller lists, see `NodeSets`. */
export interface SetClaim {
  readonly set: string;
  /** `refuse`: the node refuses to take while a foreign set is in use there. */
  readonly otherSet: 'refuse' | 'warn';
}

/**
 * `take`: that number of permits or none: these slots, then the lowest that are free; this token or
 * a higher one.
 * `extend`: a new expiry for what is held, and nothing for what is not.
 * `assign`: exactly these slots as far as they are free, and this token if it is higher than any
 * that the node knows of; else a higher one.
 * `restore`: exactly these slots as far as they are free, and exactly this token.
 */
export type HoldMode = 'take' | 'extend' | 'assign' | 'restore';

/** Slots of one ticket, with what they were given. */
export interface Holding {
  readonly slots: readonly number[];
  /**
   * The fencing token, in microseconds. Of a node: the highest that it had ever given out or heard
   * of when it gave this one.
   */
  readonly token: number;
  /**
   * Rises with every try of a ticket. A call that is repeated because its outcome is unknown names
   * it, so that the rollback of one try never takes away what a later one has won.
   */
  readonly attempt: number;
}

/** What a node should hold for a ticket. */
export interface HoldRequest extends Holding {
  readonly id: string;
  readonly mode: HoldMode;
  readonly permits: number;
  readonly label: string;
}

export interface NodeReply {
  /** When the node served the call. */
  readonly time: number;
}

export interface HoldReply extends NodeReply {
  /** One for each request: undefined when the node refused it, or holds nothing for it. */
  readonly holdings: readonly (Holding | undefined)[];
  /** After a `take` the lowest free slots; not more than a few dozen. */
  readonly free: readonly number[];
  /** The limit of the last caller, where it is another and tickets are held. */
  readonly otherLimit: number | undefined;
  /** The sets that the node is used in, as recorded before the call. */
  readonly sets: readonly RecordedSet[];
}

export interface RecordedSet {
  readonly set: string;
  /** A ticket was held in it; else a ticket may have been won in vain. */
  readonly proven: boolean;
}

export interface DropCall {
  readonly key: SemaphoreKey;
  /**
   * The set of the caller, and whether the tickets were held in it; if not, the node forgets it
   * with the last ticket.
   */
  readonly origin?: { readonly set: string; readonly held: boolean } | undefined;
  readonly tickets: readonly DropRequest[];
  /** As in `CallTiming`. */
  readonly timeoutMs?: number | undefined;
}

export interface DropRequest {
  readonly id: string;
  /** Later attempts stay; Infinity: whatever there is goes. */
  readonly attempt: number;
}

export interface DropReply extends NodeReply {
  /** One for each ticket: whether it was live. */
  readonly dropped: readonly boolean[];
}

export interface ListReply extends NodeReply {
  readonly tickets: readonly NodeTicket[];
}

export interface NodeTicket extends Holding {
  readonly id: string;
  readonly expiresAt: number;
  readonly grantedAt: number;
  readonly label: string;
}

/**
 * The call came after its `notAfter`: it was delayed on its way, or the node's clock was stepped.
 */
export class LateCallError extends Error {
  /** When the node served the call, on its clock. */
  readonly time: number;

  constructor(time: number) {
    super('the call came too late, or the clock of the node was stepped');
    this.name = 'LateCallError';
    this.time = time;
  }
}
