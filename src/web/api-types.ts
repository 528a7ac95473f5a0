/**
 * The JSON of the web view. Durations are milliseconds; `at` and other moments are milliseconds
 * since the Unix epoch, by the clock of the process that serves the view.
 */
import type { HistoryPoint } from '../sampler/history.js';

export type { HistoryPoint };

/** A semaphore in the list. */
export interface SemaphoreRow {
  /** The semaphore's name: any text, so never markup. */
  readonly name: string;
  /** The limit that counts; null if it is not known, or if there is a rate and no limit. */
  readonly limit: number | null;
  /** `setLimit`: stored. `caller`: the limit of the last caller. `none`: no caller within a day. */
  readonly limitFrom: 'setLimit' | 'caller' | 'none';
  /** Held permits. */
  readonly held: number;
  /** Waiting requests. */
  readonly waiting: number;
  /** Permits held above the limit, after the limit was lowered; 0 mostly. */
  readonly over: number;
  /** Grants per second over the last 10 s; left out before the second look, also after a pause. */
  readonly rate?: number;
  /** How long the first request in the queue has waited; null when the queue is empty. */
  readonly oldestWait: number | null;
  /** The list is sorted by it, the highest first: see the guide. */
  readonly pressure: number;
  /** Why its keys cannot be read. Then the numbers are 0. */
  readonly error?: string;
}

/** Whether the server answers. */
export interface ServerState {
  /** Whether the last look was answered. */
  readonly reachable: boolean;
  /** When a look was answered last; null: never. The numbers are of that moment. */
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
  /** How many names are known, including names that are left out. */
  readonly total: number;
}

/** A slot in use: a ticket of several permits has several slots, with the same `holderId`. */
export interface SlotState {
  /** Its number, from 0. */
  readonly slot: number;
  /** The ticket's id, as `POST api/revoke` takes it. */
  readonly holderId: string;
  /** The holder's label: any text. */
  readonly label: string;
  /** The time since the grant. */
  readonly heldFor: number;
  /** The time until the ticket expires without an extension. */
  readonly expiresIn: number;
  /** As `handle.fencingToken`. */
  readonly fencingToken: number;
}

/** A waiting request. */
export interface QueuedRequest {
  /** The id of its future ticket. */
  readonly id: string;
  /** 0: the next request that gets a permit. */
  readonly position: number;
  /** How many permits it asks for. */
  readonly permits: number;
  /** The time since its arrival. */
  readonly waitingFor: number;
  /** The waiter's label: any text. */
  readonly label: string;
  /** Its group, if the semaphore has groups. */
  readonly group?: string;
  /** Its priority, if the semaphore has priorities. */
  readonly priority?: number;
  /** How long it will probably wait, by the grants per second of the last looks. */
  readonly estimate?: number;
}

/** Lost handles, as far as this process knows. */
export interface LossCount {
  /** As `HandleLostError.reason`. */
  readonly reason: string;
  /** The number since this process began to look. */
  readonly count: number;
}

/** A group that shares a semaphore. */
export interface GroupState {
  /** The group's name: any text. */
  readonly group: string;
  /** The permits that it holds. */
  readonly held: number;
  /** How many permits it may hold at once; left out if groups have no limit. */
  readonly limit?: number;
  /** Its waiting requests. */
  readonly waiting: number;
  /** Its share of the next permits by its weight, 0 to 1; 0 while a higher priority waits. */
  readonly share: number;
}

/** A budget that counts, as in `Semaphore.inspect`. */
export interface BudgetUse {
  /** Used units of the burst; more than the burst: in debt. */
  readonly used: number;
  /** Units at once, after a pause. */
  readonly burst: number;
  /** Units in each period. */
  readonly amount: number;
  /** The period in milliseconds. */
  readonly per: number;
  /** `setBudget`: stored. `caller`: not stored, but in the options of a recent caller. */
  readonly from: 'setBudget' | 'caller' | 'options';
}

/** `GET api/semaphore`, and the event `detail`. */
export interface Detail extends Omit<ListSnapshot, 'semaphores' | 'total'> {
  /** As in the list. */
  readonly row: SemaphoreRow;
  /** The used slots, in order; at most 5000. */
  readonly slots: readonly SlotState[];
  /** The first 5000 requests, in the order of the queue. */
  readonly queue: readonly QueuedRequest[];
  /** Steps of 5 s, oldest first; a step without a look is left out. */
  readonly history: readonly HistoryPoint[];
  /** The reasons that occurred. */
  readonly losses: readonly LossCount[];
  /** Groups that hold or wait; empty if the semaphore has no groups. */
  readonly groups: readonly GroupState[];
  /** By name; empty if the semaphore has no budgets. */
  readonly budgets: Readonly<Record<string, BudgetUse>>;
}

/** Body of `POST api/limit`. */
export interface LimitRequest extends PauseRequest {
  /** An integer, minimum 0. */
  readonly limit: number;
}

/** Body of `POST api/pause`: as a limit of 0. */
export interface PauseRequest {
  /** The semaphore. */
  readonly name: string;
}

/** Body of `POST api/revoke`. */
export interface RevokeRequest extends PauseRequest {
  /** The ticket's id, `SlotState.holderId`. */
  readonly ticketId: string;
}

/** The reply to a change, with status 200. */
export interface ChangeReply {
  /** False: the ticket was gone already. */
  readonly changed: boolean;
}

/** The reply to any request, with another status. */
export interface ErrorReply {
  /** For people. */
  readonly error: string;
}
