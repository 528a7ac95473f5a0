import type { FaultKind } from './fault-kinds.js';

/**
 * One line of a history. `at`: milliseconds of the machine's monotonic clock, which all its processes share,
 * with microseconds behind the point. `process`: who wrote it, a name that is never used again.
 */
export type HistoryEvent =
  | RunEvent
  | InvokeEvent
  | OkEvent
  | FailEvent
  | UnknownEvent
  | HeldEvent
  | LostEvent
  | StallEvent
  | SeenEvent
  | FaultEvent
  | QuietEvent
  | FinalEvent;

interface Written {
  readonly at: number;
  readonly process: string;
}

/** What the run is about. The first line of the nemesis's own file. */
export interface RunEvent extends Written {
  readonly type: 'run';
  readonly name: string;
  readonly limit: number;
  readonly ttl: number;
  /** How long a ticket lives that was granted to a waiter, until its first extension. */
  readonly claim: number;
  /** Milliseconds after the last fault within which every permit must be in use again. */
  readonly recovery: number;
  /** Whether requests are granted in order of arrival: they are not where there is no queue. */
  readonly ordered: boolean;
}

export type Operation = 'acquire' | 'try' | 'extend' | 'release';

export interface InvokeEvent extends Written {
  readonly type: 'invoke';
  /** Unique in its process. */
  readonly call: number;
  readonly operation: Operation;
  /** Milliseconds that an acquire may wait. */
  readonly timeout?: number;
  readonly permits?: number;
  /** The ticket that is extended or released. */
  readonly ticket?: string;
}

export interface Ticket {
  readonly id: string;
  readonly slots: readonly number[];
  readonly token: number;
}

/** The call did what it should. */
export interface OkEvent extends Written {
  readonly type: 'ok';
  readonly call: number;
  /** What an acquire got; a try may get none. */
  readonly ticket?: Ticket;
  /** Until when the holder is certain of its ticket without another extension. */
  readonly until?: number;
  /** What a release resolved with: whether the ticket had been held until then. */
  readonly released?: boolean;
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

/** What a holder saw on its handle: written when its certainty has grown, and when it is over. */
export interface HeldEvent extends Written {
  readonly type: 'held';
  readonly ticket: string;
  readonly held: boolean;
  readonly until: number;
}

export interface LostEvent extends Written {
  readonly type: 'lost';
  readonly ticket: string;
  readonly reason: string;
}

/** The process could not run for so long, in milliseconds, until `at`. */
export interface StallEvent extends Written {
  readonly type: 'stall';
  readonly lasted: number;
}

/** What `inspect` told. */
export interface SeenEvent extends Written {
  readonly type: 'seen';
  /** When it was asked; `at` is when it answered. */
  readonly asked: number;
  readonly holders: readonly Ticket[];
  readonly waiters: readonly string[];
}

/**
 * One fault has four moments: `begin`, just before it is brought about; `active`, when it is there; `ending`, just
 * before it is taken away; `end`. One that only strikes has `begin` and `end`.
 */
export interface FaultEvent extends Written {
  readonly type: 'fault';
  readonly fault: number;
  readonly kind: FaultKind;
  readonly phase: 'begin' | 'active' | 'ending' | 'end';
  /** Whom it strikes; left out: everybody. */
  readonly targets?: readonly string[];
  /** Milliseconds by which the server's clock is moved. */
  readonly step?: number;
  /** The part of the semaphore's keys that is deleted. */
  readonly key?: string;
  /** Which of several independent masters it strikes; left out: all servers. */
  readonly node?: number;
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
  /** The parts of the semaphore's keys that still exist. */
  readonly keys: readonly string[];
}
