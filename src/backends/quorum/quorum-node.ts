import type { SemaphoreKey } from '../backend.js';

/**
 * The port to one of the independent masters. For a node, a semaphore is numbered slots, each free
 * or held by a ticket until a time on the node's clock. Each call takes many tickets. Times and
 * durations are milliseconds; times are on the node's clock.
 */
export interface QuorumNode {
  /** The name that every process gives to the node, if its client shows an address. */
  readonly name?: string | undefined;
  /** Gives tickets slots, renews tickets, and moves them to the slots that a majority gave. */
  hold(call: HoldCall): Promise<HoldReply>;
  /** Gives tickets back: compare-and-delete by id and attempt. */
  drop(call: DropCall): Promise<DropReply>;
  /** Every live ticket of a semaphore. */
  list(key: SemaphoreKey): Promise<ListReply>;
  /** Whether trying again on this node can help. */
  isRetryable(error: unknown): boolean;
  /** A setting of the node that endangers the tickets, if the node lets this process see it. */
  findHazard?(key: SemaphoreKey): Promise<string | undefined>;
}

export interface CallTiming {
  /** The time on the node's clock after which the call must change nothing. */
  readonly notAfter: number | undefined;
  /** How long the caller waits for the reply. Left out: the longest time of a node. */
  readonly timeoutMs?: number | undefined;
}

/** The semaphore of the tickets in a call, and how long they live. */
export interface Subject {
  readonly key: SemaphoreKey;
  readonly limit: number;
  readonly ttl: number;
}

/** Either all requests have the mode `take`, or none has. */
export interface HoldCall extends Subject, CallTiming {
  /** Left out if the caller's nodes have no names. */
  readonly claim?: SetClaim | undefined;
  readonly requests: readonly HoldRequest[];
}

/** The set of nodes that the caller lists, see `foreign-sets.ts`. */
export interface SetClaim {
  readonly set: string;
  /** `refuse`: the node refuses to take while a foreign set is in use there. */
  readonly otherSet: 'refuse' | 'warn';
}

/**
 * `take`: that number of permits or none: these slots, then the lowest free slots; this token or a
 * higher token.
 * `extend`: a new expiry for a ticket that is held, and nothing for other tickets.
 * `assign`: these slots as far as they are free, and this token if it is higher than all tokens
 * that the node knows; else a higher token.
 * `restore`: these slots as far as they are free, and exactly this token.
 */
export type HoldMode = 'take' | 'extend' | 'assign' | 'restore';

/** The slots of a ticket, with its token and attempt. */
export interface Holding {
  readonly slots: readonly number[];
  /** The fencing token, in microseconds; a node gives tokens in rising order. */
  readonly token: number;
  /**
   * Rises with every try of a ticket. A rollback names the attempt, so that it never takes a ticket
   * away that a later attempt has won.
   */
  readonly attempt: number;
}

/** A ticket that a node should hold. */
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
  /** A holding for each request: undefined when the node refused it, or does not hold it. */
  readonly holdings: readonly (Holding | undefined)[];
  /** After a `take` the lowest free slots, a few dozen at most. */
  readonly free: readonly number[];
  /** The limit of the last caller, if it is another limit and tickets are held. */
  readonly otherLimit: number | undefined;
  /** The sets in which the node is used, as recorded before the call. */
  readonly sets: readonly RecordedSet[];
}

export interface RecordedSet {
  readonly set: string;
  /** A ticket was held in the set; else a ticket may have been won in vain. */
  readonly proven: boolean;
}

export interface DropCall {
  readonly key: SemaphoreKey;
  /**
   * The set of the caller, and whether the tickets were held in it; if not, the node forgets the
   * set with the last ticket.
   */
  readonly origin?: { readonly set: string; readonly held: boolean } | undefined;
  readonly tickets: readonly DropRequest[];
  /** As in `CallTiming`. */
  readonly timeoutMs?: number | undefined;
}

export interface DropRequest {
  readonly id: string;
  /** Later attempts stay; Infinity: every attempt goes. */
  readonly attempt: number;
}

export interface DropReply extends NodeReply {
  /** For each ticket whether it was live. */
  readonly dropped: readonly boolean[];
}

export interface ListReply extends NodeReply {
  readonly tickets: readonly NodeTicket[];
}

export interface NodeTicket extends Holding {
  readonly id: string;
  /** Counted from the reply. */
  readonly expiresIn: number;
  readonly heldFor: number;
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
