import { createHash } from 'node:crypto';

/**
 * One line of a history, see docs/proof/history-format.md. `at`: milliseconds of true time. `process`: who it happened to.
 */
export type HistoryEvent =
  | RunEvent
  | StartedEvent
  | InvokeEvent
  | OkEvent
  | FailEvent
  | UnknownEvent
  | HeldEvent
  | LostEvent
  | StallEvent
  | FaultEvent
  | ServedEvent
  | ServerEvent
  | QuietEvent
  | FinalEvent
  | CrashEvent;

interface Written {
  readonly at: number;
  readonly process: string;
}

/** The first line. */
export interface RunEvent extends Written {
  readonly type: 'run';
  readonly seed: number;
  readonly semaphores: readonly SemaphoreTerms[];
  /** How many independent masters there are; 1: one server with a queue. */
  readonly nodes: number;
}

export interface SemaphoreTerms {
  readonly name: string;
  readonly limit: number;
  readonly ttl: number;
}

export interface StartedEvent extends Written {
  readonly type: 'started';
  /** Milliseconds of its clocks in one of true time. */
  readonly rate: number;
}

export type Operation =
  | 'acquire'
  | 'try'
  | 'all'
  | 'keyed'
  | 'extend'
  | 'release'
  | 'adopt'
  | 'revoke'
  | 'set-limit'
  | 'inspect'
  | 'close';

export interface InvokeEvent extends Written {
  readonly type: 'invoke';
  /** Unique in its process. */
  readonly call: number;
  readonly operation: Operation;
  readonly semaphores: readonly string[];
  /** Milliseconds that an acquire may wait. */
  readonly timeout?: number;
  readonly permits?: number;
  readonly ticket?: string;
}

export interface Ticket {
  readonly semaphore: string;
  readonly id: string;
  readonly slots: readonly number[];
  readonly token: number;
  /** Until when the holder is certain of it without another extension. */
  readonly until: number;
}

/** The call did what it should. */
export interface OkEvent extends Written {
  readonly type: 'ok';
  readonly call: number;
  /** What an acquire got; a try may get none. */
  readonly tickets?: readonly Ticket[];
  /** What a release or a revocation resolved with. */
  readonly result?: boolean;
}

/** The call did nothing: no permit in time, or the ticket was gone. */
export interface FailEvent extends Written {
  readonly type: 'fail';
  readonly call: number;
  readonly error: string;
}

/** The caller cannot know whether the call took effect. */
export interface UnknownEvent extends Written {
  readonly type: 'unknown';
  readonly call: number;
  readonly error: string;
}

/** What a handle says has changed: its holder is certain until then. */
export interface HeldEvent extends Written {
  readonly type: 'held';
  readonly ticket: string;
  readonly token: number;
  readonly until: number;
}

export interface LostEvent extends Written {
  readonly type: 'lost';
  readonly ticket: string;
  readonly token: number;
  readonly reason: string;
}

/** The process cannot run until then. */
export interface StallEvent extends Written {
  readonly type: 'stall';
  readonly until: number;
}

export interface FaultEvent extends Written {
  readonly type: 'fault';
  readonly fault: number;
  readonly kind: string;
  readonly phase: 'begin' | 'end';
  /** Left out: everybody. */
  readonly targets?: readonly string[];
  readonly node?: number;
  readonly step?: number;
}

/** One call as the server saw it, and what it answered. */
export interface ServedEvent extends Written {
  readonly type: 'served';
  readonly operation: string;
  readonly semaphore: string;
  /** Who asked. */
  readonly client: string;
  /** The server's clock. */
  readonly time: number;
  readonly ttl?: number;
  readonly notAfter?: number;
  readonly requests?: readonly ServedRequest[];
  readonly tickets?: readonly ServedTicket[];
  /** To queued requests, of whichever client. */
  readonly grants: readonly QueueGrant[];
  readonly newLimit?: number;
  readonly late?: boolean;
  /** Its answer reaches nobody. */
  readonly unheard?: boolean;
  readonly adopted?: ServedGrant & { readonly before: string };
}

export interface ServedRequest {
  readonly id: string;
  readonly permits: number;
  readonly wait: boolean;
  /** The place in the queue that it names, and the one that it was told. */
  readonly arrival?: number;
  readonly place?: number;
  readonly verdict: string;
  readonly token?: number;
  readonly slots?: readonly number[];
}

/** A ticket that was extended, released or revoked, and whether it was there. */
export interface ServedTicket {
  readonly id: string;
  readonly token?: number;
  readonly there: boolean;
}

export interface ServedGrant {
  readonly id: string;
  readonly token: number;
  readonly slots: readonly number[];
  readonly expiresAt: number;
}

/** To a request that waited. */
export interface QueueGrant extends ServedGrant {
  /** Whether it went to anybody: with the reply, or to a subscriber. */
  readonly heard: boolean;
}

/** The server has lost its data, got back that of the time after its `upTo`th call, or its clock was stepped. */
export interface ServerEvent extends Written {
  readonly type: 'server';
  readonly change: 'empty' | 'restored' | 'stepped';
  readonly upTo?: number;
  readonly step?: number;
}

/** No fault comes after this. */
export interface QuietEvent extends Written {
  readonly type: 'quiet';
}

/** What is left when all have closed. */
export interface FinalEvent extends Written {
  readonly type: 'final';
  readonly held: number;
  readonly waiting: number;
  readonly timers: number;
  readonly subscriptions: number;
  readonly unsettled: number;
}

/** What must never be: an unhandled rejection, an exception out of a timer. */
export interface CrashEvent extends Written {
  readonly type: 'crash';
  readonly error: string;
}

/** Takes events down in their order, and what identifies the run: the SHA-256 of them all. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #hash = createHash('sha256');
  readonly #readers: ((event: HistoryEvent) => void)[] = [];

  record(event: HistoryEvent): void {
    this.events.push(event);
    this.#hash.update(JSON.stringify(event)).update('\n');
    for (const read of this.#readers) read(event);
  }

  onEvent(read: (event: HistoryEvent) => void): void {
    this.#readers.push(read);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}
