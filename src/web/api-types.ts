/**
 * What the web view sends as JSON. Durations are milliseconds; `at` and other moments are
 * milliseconds since the Unix epoch, by the clock of the process that serves the view.
 */
import type { HistoryPoint } from '../sampler/history.js';

export type { HistoryPoint };

/** One semaphore in the list. */
export interface SemaphoreRow {
  /** The semaphore's name. Anybody's text: never markup. */
  readonly name: string;
  /** The limit that counts; null where it is not known, and beside a rate where there is none. */
  readonly limit: number | null;
  /** `setLimit`: stored. `caller`: that of the last caller. `none`: none within a day. */
  readonly limitFrom: 'setLimit' | 'caller' | 'none';
  /** Permits that are held. */
  readonly held: number;
  /** Requests that wait. */
  readonly waiting: number;
  /** Permits held above the limit, after it was lowered; 0 mostly. */
  readonly over: number;
  /** Grants per second that were seen over the last 10 s; left out until two looks were made. */
  readonly rate?: number;
  /** How long the first request in the queue waits; null when the queue is empty. */
  readonly oldestWait: number | null;
  /** What the list is sorted by, the highest first: see the guide. */
  readonly pressure: number;
  /** Its keys cannot be read: why. Then the numbers are 0. */
  readonly error?: string;
}

/** Whether the server answers. */
export interface ServerState {
  /** Whether the last look was answered. */
  readonly reachable: boolean;
  /** When a look was answered last; null: never. The numbers shown are of that moment. */
  readonly lastOkAt: number | null;
  /** Why the last look failed. */
  readonly error?: string;
}

/** `GET api/list`, and the event `list`. */
export interface ListSnapshot {
  /** When this was sent. */
  readonly at: number;
  /** Whether the server answers. */
  readonly server: ServerState;
  /** Whether this view may change limits and revoke tickets. */
  readonly actions: boolean;
  /** The first 1000 by pressure, then by name. */
  readonly semaphores: readonly SemaphoreRow[];
  /** How many names are known, those left out included. */
  readonly total: number;
}

/** One slot in use: a ticket of several permits is in several slots, with the same `holderId`. */
export interface SlotState {
  /** Its number, from 0. */
  readonly slot: number;
  /** The ticket's id: what `POST api/revoke` takes. */
  readonly holderId: string;
  /** The holder's label. Anybody's text. */
  readonly label: string;
  /** Since the grant. */
  readonly heldFor: number;
  /** Until the ticket expires unless extended. */
  readonly expiresIn: number;
  /** As `handle.fencingToken`. */
  readonly fencingToken: number;
}

/** One request that waits. */
export interface QueuedRequest {
  /** The id of the ticket that it will be. */
  readonly id: string;
  /** 0 is the next to be granted. */
  readonly position: number;
  /** How many permits it asks for. */
  readonly permits: number;
  /** Since it arrived. */
  readonly waitingFor: number;
  /** The waiter's label. Anybody's text. */
  readonly label: string;
  /** The group that it shares with, where the semaphore has groups. */
  readonly group?: string;
  /** Its priority, where the semaphore has priorities. */
  readonly priority?: number;
  /** How long it will probably still wait, by the grants per second that were seen. */
  readonly estimate?: number;
}

/** Handles that were lost, as far as this process knows. */
export interface LossCount {
  /** As `HandleLostError.reason`. */
  readonly reason: string;
  /** Since this process began to look. */
  readonly count: number;
}

/** One group that shares a semaphore. */
export interface GroupState {
  /** The group's name. Anybody's text. */
  readonly group: string;
  /** Permits that it holds. */
  readonly held: number;
  /** How many it may hold at once; left out where groups have no limit. */
  readonly limit?: number;
  /** Its requests that wait. */
  readonly waiting: number;
  /** Its part of the next permits by its weight, 0 to 1; 0 while a higher priority waits. */
  readonly share: number;
}

/** One budget that counts, as in `Semaphore.inspect`. */
export interface BudgetUse {
  /** Units of the burst that are used; more than the burst: in debt. */
  readonly used: number;
  /** Units at once, after a pause. */
  readonly burst: number;
  /** Units in each period. */
  readonly amount: number;
  /** The period in milliseconds. */
  readonly per: number;
  /** `setBudget`: stored. `caller`: none is stored, and a caller of late has it. */
  readonly from: 'setBudget' | 'caller' | 'options';
}

/** `GET api/semaphore`, and the event `detail`. */
export interface Detail {
  /** When this was sent. */
  readonly at: number;
  /** Whether the server answers. */
  readonly server: ServerState;
  /** Whether this view may change limits and revoke tickets. */
  readonly actions: boolean;
  /** As in the list. */
  readonly row: SemaphoreRow;
  /** By slot; free slots are left out. At most 5000. */
  readonly slots: readonly SlotState[];
  /** In the order of the queue, the first 5000. */
  readonly queue: readonly QueuedRequest[];
  /** Oldest first, a step each 5 s; a step without a look is left out. */
  readonly history: readonly HistoryPoint[];
  /** Reasons that occurred. */
  readonly losses: readonly LossCount[];
  /** Groups that hold or wait; empty where the semaphore has none. */
  readonly groups: readonly GroupState[];
  /** By name; empty where the semaphore has none. */
  readonly budgets: Readonly<Record<string, BudgetUse>>;
}

/** Body of `POST api/limit`. */
export interface LimitRequest {
  /** The semaphore. */
  readonly name: string;
  /** An integer, minimum 0. */
  readonly limit: number;
}

/** Body of `POST api/pause`: as a limit of 0. */
export interface PauseRequest {
  /** The semaphore. */
  readonly name: string;
}

/** Body of `POST api/revoke`. */
export interface RevokeRequest {
  /** The semaphore. */
  readonly name: string;
  /** The ticket's id, `SlotState.holderId`. */
  readonly ticketId: string;
}

/** What a change replies with status 200. */
export interface ChangeReply {
  /** False: the ticket was gone already. */
  readonly changed: boolean;
}

/** What everything replies with another status. */
export interface ErrorReply {
  /** For people. */
  readonly error: string;
}
