/**
 * One line of a history, of chaos or of a simulation: docs/evidence/history-format.md explains
 * each. `at`: milliseconds of one clock that all processes share. `process`: the process that wrote
 * the line, or that it is about; a name that is never used again.
 */
export type HistoryEvent =
  | RunEvent
  | (Written & { readonly type: 'started'; readonly rate: number })
  | InvokeEvent
  | OkEvent
  | FailEvent
  | HeldEvent
  | LostEvent
  | (Written & { readonly type: 'stall'; readonly from: number; readonly until: number })
  | FaultEvent
  | ServerEvent
  | ServedEvent
  | SeenEvent
  | (Written & { readonly type: 'crash'; readonly error: string })
  | (Written & { readonly type: 'quiet' })
  | FinalEvent;

/** An event without the fields that its writer adds. `at`: a time that was taken earlier. */
export type NewEvent = HistoryEvent extends infer E
  ? E extends HistoryEvent
    ? Omit<E, 'at' | 'process'> & { readonly at?: number }
    : never
  : never;

interface Written {
  readonly at: number;
  readonly process: string;
}

/** The first line of a history: the settings of the run. */
export interface RunEvent extends Written {
  readonly type: 'run';
  readonly semaphores: readonly SemaphoreSettings[];
  readonly nodes: number;
  readonly seed?: number;
  /** How long a ticket lives that was granted to a waiter, until its first extension. */
  readonly claim?: number;
  readonly recovery?: number;
}

export interface SemaphoreSettings {
  readonly name: string;
  readonly limit: number;
  readonly ttl: number;
  readonly groups?: boolean;
  /** The options of all processes; left out: none. */
  readonly rate?: RateSettings;
  readonly budgets?: Readonly<Record<string, RateSettings>>;
  readonly groupLimit?: number;
}

/** How many permits, or units of a budget, in a period of milliseconds, and at once. */
export interface RateSettings {
  readonly permits: number;
  readonly per: number;
  readonly burst: number;
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
  | 'set-rate'
  | 'set-budget'
  | 'set-group-limit'
  | 'inspect'
  | 'close';

/** The subject of a call. */
export interface Invocation {
  readonly operation: Operation;
  readonly semaphores: readonly string[];
  /** Milliseconds that an acquire may wait. */
  readonly timeout?: number;
  readonly permits?: number;
  readonly ticket?: string;
}

export interface InvokeEvent extends Written, Invocation {
  readonly type: 'invoke';
  readonly call: number;
}

export interface Grant {
  readonly id: string;
  readonly slots: readonly number[];
  readonly token: number;
}

export interface Ticket extends Grant {
  readonly semaphore: string;
  readonly until: number;
}

export interface Outcome {
  readonly tickets?: readonly Ticket[];
  readonly result?: boolean;
}

export interface OkEvent extends Written, Outcome {
  readonly type: 'ok';
  readonly call: number;
}

export interface FailEvent extends Written {
  readonly type: 'fail' | 'unknown';
  readonly call: number;
  readonly error: string;
}

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

/** A fault begins just before it is caused, and ends when it is undone. */
export interface FaultEvent extends Written {
  readonly type: 'fault';
  readonly fault: number;
  readonly kind: string;
  readonly phase: 'begin' | 'end';
  readonly targets?: readonly string[] | undefined;
  readonly semaphore?: string | undefined;
  /** Milliseconds by which the server's clock is moved. */
  readonly step?: number | undefined;
  /** The key that is deleted, by the last part of its name. */
  readonly key?: string | undefined;
  /** Which of several independent masters it strikes; left out: all servers. */
  readonly node?: number | undefined;
}

export interface ServerEvent extends Written {
  readonly type: 'server';
  readonly change: 'empty' | 'restored' | 'stepped';
  readonly upTo?: number;
  readonly step?: number;
}

/** A call to the server, and the reply. */
export interface ServedEvent extends Written {
  readonly type: 'served';
  readonly operation: string;
  readonly semaphore: string;
  readonly client: string;
  readonly time: number;
  readonly ttl?: number | undefined;
  readonly notAfter?: number | undefined;
  /** The turn that was named to the client: its waiter lease lasts until 5 s after it. */
  readonly turnAt?: number | undefined;
  readonly requests?: readonly ServedRequest[] | undefined;
  readonly tickets?: readonly ServedTicket[] | undefined;
  /** To queued requests, of whichever client. */
  readonly grants: readonly QueueGrant[];
  readonly newLimit?: number | undefined;
  /** `setRate` and `setGroupLimit`: null stores that there is none. */
  readonly newRate?: RateSettings | null | undefined;
  /** The budget that `newRate` is about; left out: the rate. */
  readonly budget?: string | undefined;
  readonly newGroupLimit?: number | null | undefined;
  readonly late?: boolean | undefined;
  readonly sent?: number | undefined;
  readonly unheard?: boolean | undefined;
  readonly adopted?: (ServedGrant & { readonly before: string }) | undefined;
}

/** The part of an order before the arrival. */
export interface ServedOrder {
  readonly priority: number;
  readonly group: string;
  readonly weight: number;
}

export interface ServedRequest {
  readonly id: string;
  readonly permits: number;
  readonly wait: boolean;
  /** Left out: none. */
  readonly order?: ServedOrder | undefined;
  /** Units of budgets. */
  readonly cost?: Readonly<Record<string, number>> | undefined;
  readonly arrival?: number | undefined;
  readonly place?: number | undefined;
  readonly verdict: string;
  readonly token?: number | undefined;
  readonly slots?: readonly number[] | undefined;
}

/** A ticket that a call extends, releases or revokes, and whether it was there. */
export interface ServedTicket {
  readonly id: string;
  readonly token?: number | undefined;
  readonly there: boolean;
  /** Units of budgets that it has spent, by its release. */
  readonly spent?: Readonly<Record<string, number>> | undefined;
}

export interface ServedGrant extends Grant {
  readonly expiresAt: number;
}

/** To a request that waited. */
export interface QueueGrant extends ServedGrant {
  /** Whether a process got the grant: with the reply, or by its subscription. */
  readonly heard: boolean;
}

export interface SeenEvent extends Written {
  readonly type: 'seen';
  readonly asked: number;
  readonly holders: readonly Grant[];
}

export interface FinalEvent extends Written {
  readonly type: 'final';
  readonly held: number;
  readonly waiting: number;
  /** The semaphore's keys that still exist, by the last part of their name. */
  readonly keys?: readonly string[];
  /** In the processes that are left. */
  readonly timers?: number;
  readonly subscriptions?: number;
  /** Calls that have not ended. */
  readonly unsettled?: number;
}

/** A broken promise. */
export interface Violation {
  readonly rule: string;
  readonly at: number;
  readonly message: string;
}

export type Report = (rule: string, at: number, message: string) => void;

export function lineOf(event: HistoryEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** The ids of a client's tickets and requests begin with its name. */
export function clientOf(id: string): string {
  return id.slice(0, id.indexOf('.'));
}
