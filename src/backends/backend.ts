import type { Clock } from '../time/clock.js';

/**
 * The port between the semaphore and where its tickets live. What is ready in the same turn travels
 * together: acquire, extend and release take calls of many semaphores, each with many tickets, and
 * reply to each of them in the same order. They reject as a whole; what was done before the error
 * stays done, and ids make a second call harmless. Durations are milliseconds; server times are
 * milliseconds on the backend's own clock and are only compared with each other.
 */
export interface Backend {
  /** The clock that semaphores on this backend use by default. */
  readonly clock?: Clock;
  /** Serves the requests of each call, or queues them. */
  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]>;
  /** Renews tickets. */
  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]>;
  /** Gives tickets back and withdraws requests. */
  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]>;
  /**
   * One ticket of each semaphore, or none: where one is not free at once, none is taken and the
   * reply is undefined. Waiting requests may be granted in any case: their clients hear of that by
   * messages, the caller, too. Each call is of another semaphore of the lane, names no rate, budget
   * or group limit, and has one request, for one permit, that does not wait; all have one
   * `notAfter`. Left out: each semaphore is asked by itself.
   */
  acquireTogether?(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[] | undefined>;
  /**
   * Semaphores of the same lane may share a call: they have one prefix and are on one server. Left
   * out: semaphores of one prefix share calls.
   */
  laneOf?(key: SemaphoreKey): string;
  /** Reads the whole state of one semaphore, expired tickets left out. */
  inspect(call: InspectCall): Promise<InspectReply>;
  /**
   * Some figures of each of several semaphores of one prefix: for a list of all. The replies may
   * end before the calls do, but are at least one: the caller asks again for the other semaphores.
   * Left out where each must be inspected.
   */
  overview?(keys: readonly SemaphoreKey[]): Promise<readonly OverviewReply[]>;
  /**
   * A page of the names with this prefix that were used within a day, and where the next page
   * begins: '' is the beginning and the end. A name may come more than once. Left out where the
   * backend does not know.
   */
  listNames?(prefix: string, cursor: string): Promise<NamePage>;
  /**
   * Stores the limit that counts for everyone. Left out, as the next ones, where the backend
   * cannot.
   */
  setLimit?(call: SetLimitCall): Promise<SetLimitReply>;
  /**
   * Changes the limit that counts by a number and stores it. A call that runs twice changes it
   * once.
   */
  addPermits?(call: AddPermitsCall): Promise<AddPermitsReply>;
  /**
   * Stores the rate that counts for all callers. Left out: semaphores with a rate are refused,
   * because the backend could not keep it.
   */
  setRate?(call: SetRateCall): Promise<SetRateReply>;
  /** Stores the group limit that counts for everyone. */
  setGroupLimit?(call: SetGroupLimitCall): Promise<SetRateReply>;
  /** Gives a ticket to another holder under a new id, with a new token. */
  adopt?(call: AdoptCall): Promise<AdoptReply>;
  /** Takes a ticket from its holder. */
  revoke?(call: RevokeCall): Promise<RevokeReply>;
  /**
   * This backend, but a ticket counts only once that many replicas have it. The same object for the
   * same requirement. Left out where replicas cannot be counted.
   */
  withReplicas?(required: ReplicaRequirement): Backend;
  /**
   * Whether a pushed grant must be claimed by asking for it again, since another's call wrote it.
   */
  readonly confirmsPushedGrants?: boolean;
  /** What is set on the server so that it endangers the tickets, if that is known. */
  findHazard?(key: SemaphoreKey): Promise<string | undefined>;
  /** Reports such a setting once when it is noticed in use; returns what takes the listener off. */
  onHazard?(key: SemaphoreKey, listener: (message: string) => void): () => void;
  /** The backend has no queue: requests have no order, and `maxWaiting` no meaning. */
  readonly hasNoQueue?: boolean;
  /**
   * How many permits one request may ask for, whatever the limit. Left out: as many as the limit.
   */
  readonly mostPermits?: number;
  /**
   * Notes that keyed mutexes of that name are used with that many stripes, 0 for none, and gives
   * all numbers that were noted within a day. Left out: no mutex gets a warning of another number.
   */
  noteStripes?(key: SemaphoreKey, stripes: number): Promise<readonly number[]>;
  /** Whether a retry can help. Left out: every error is worth another try. */
  isRetryable?(error: unknown): boolean;
  /**
   * Listens for grants pushed to `client`. Left out where nothing can be pushed: waiting is then by
   * polling alone. Grants are hints that save time; asking again with `acquire` is the truth.
   */
  listen?(client: string, prefix: string, listener: GrantListener): Listening;
}

/** Which semaphore: the same prefix and name mean the same permits, in every process. */
export interface SemaphoreKey {
  /** Start of every key and channel. */
  readonly prefix: string;
  /** 1 to 512 bytes. */
  readonly name: string;
}

/** How many replicas must have a permit, and how long to wait for them, in milliseconds. */
export interface ReplicaRequirement {
  /** How many replicas, minimum 1. */
  readonly atLeast: number;
  /** Milliseconds to wait for them, minimum 1. */
  readonly timeout: number;
}

/**
 * How many permits may be granted in a period, see `RateOptions`; of a budget, how many units that
 * requests cost.
 */
export interface Rate {
  /** In each period, minimum 1. */
  readonly permits: number;
  /** The period in milliseconds, minimum 1. */
  readonly per: number;
  /** At once, after a pause; minimum 1. */
  readonly burst: number;
}

/** Rates of what requests cost, by name. */
export type Budgets = Readonly<Record<string, Rate>>;

/** Units of budgets, by name. */
export type Costs = Readonly<Record<string, number>>;

/** A request for one ticket. */
export interface TicketRequest {
  /** Made by the caller, see `ticket-id.ts`: a call that runs twice gives the same ticket twice. */
  readonly id: string;
  /** How many it asks for, minimum 1. */
  readonly permits: number;
  /** Whether to queue when no permit is free. */
  readonly wait: boolean;
  /**
   * The place in the queue that an earlier reply named, so that a request that was dropped returns
   * to it.
   */
  readonly arrival: number | undefined;
  /** Left out: priority 0, no group. */
  readonly order?: RequestOrder | undefined;
  /** What its grant is charged of the budgets that count. Left out: nothing. */
  readonly cost?: Costs | undefined;
  /** Whether it asks for its position, if it is queued. */
  readonly asksProgress?: boolean;
}

/** What decides, before arrival, which of the requests that wait is next. */
export interface RequestOrder {
  /** 0 to 9, higher first. */
  readonly priority: number;
  /** Its group's share against other groups of the priority, 1 to 1000. */
  readonly weight: number;
  /** Up to 128 bytes; empty: the requests that name none share one. */
  readonly group: string;
}

/** What is granted. */
export interface Ticket {
  /** As `handle.fencingToken`. */
  readonly fencingToken: number;
  /** One number for each permit. */
  readonly slots: readonly number[];
}

/** What every call says. */
export interface Call {
  /** The semaphore that it is about. */
  readonly key: SemaphoreKey;
  /**
   * Applies where `setLimit` stored none. 0 in a release: not known here, what the last caller
   * named applies. Messages do not carry it, because any client of the server may send them.
   */
  readonly limit: number;
  /**
   * The caller: grants for its queued requests come with a reply to it, else they are pushed to
   * it.
   */
  readonly client: string;
}

/** What every reply says. */
export interface Reply {
  /** When the backend served the call. */
  readonly serverTime: number;
  /** Queued requests of the same client that were served on this occasion. */
  readonly grants: readonly PushedGrant[];
  /** The limit that `setLimit` stored. */
  readonly storedLimit?: number | undefined;
  /**
   * Where none is stored and others hold or wait: the limit of another caller, where it differs
   * from the limit of this caller.
   */
  readonly otherLimit?: number | undefined;
}

/** What a caller names beside the limit. */
export interface Policies {
  /**
   * Applies where `setRate` stored none. Left out: what another caller named applies, for a minute
   * or a period, whichever is longer.
   */
  readonly rate?: Rate | undefined;
  /** Apply as the rate does, each where `setRate` stored none of its name. */
  readonly budgets?: Budgets | undefined;
  /**
   * Permits that each group may hold at once. Applies as the rate does, where `setGroupLimit`
   * stored none.
   */
  readonly groupLimit?: number | undefined;
}

export interface AcquireCall extends Call, Policies {
  /** Life of a ticket without extension. */
  readonly ttl: number;
  /** Of the caller, as `inspect` shows it. */
  readonly label: string;
  /** Server time after which the call must change nothing. */
  readonly notAfter: number | undefined;
  /** How many requests may wait, of all callers: one more is refused. Left out: any number. */
  readonly maxWaiting?: number | undefined;
  /** What it asks for; requests of one call are served in this order. */
  readonly requests: readonly TicketRequest[];
}

/** What became of a request. Only `granted` gives a ticket. */
export type AcquireVerdict =
  GrantedVerdict | QueuedVerdict | BusyVerdict | OverVerdict | FullVerdict | LateVerdict;

/** What every verdict says. */
export interface Verdict<Kind extends string> {
  /** Distinguishes it from the other verdicts. */
  readonly kind: Kind;
}

/** It is a ticket now. */
export type GrantedVerdict = Verdict<'granted'> & Ticket;

/** No permit is free, or others came earlier: it waits. */
export interface QueuedVerdict extends Verdict<'queued'> {
  /** Its place in the queue; undefined where the backend has no queue and must be asked again. */
  readonly arrival: number | undefined;
  /** Where the request asked for it. */
  readonly progress?: QueueProgress | undefined;
}

/** The place in the queue of a request that waits. */
export interface QueueProgress {
  /**
   * How many requests come before it; 0: it is the next. Exact while no request waits with a group
   * or a priority, else as if all groups had the same weight.
   */
  readonly position: number;
  /** How many requests wait, this one among them. */
  readonly waiting: number;
}

/** No permit is free, or others came earlier, and it does not wait. */
export type BusyVerdict = Verdict<'busy'>;

/**
 * It asks for more permits than the limit that counts, which is not 0, and is not queued; a
 * request that was queued before stays.
 */
export type OverVerdict = Verdict<'over'> & Pick<InspectReply, 'limit'>;

/** As many wait as the call allows: it is not queued. */
export type FullVerdict = Verdict<'full'> & Pick<InspectReply, 'waiting'>;

/** It came after `notAfter`: nothing was done. */
export type LateVerdict = Verdict<'late'>;

export interface AcquireReply extends Reply {
  /**
   * If requests of this call were left in the queue: when the next ticket expires. Where the rate
   * or a budget alone holds the queue back: when these allow the head, if that is a request of this
   * client. Another client hears by `onTurn` that its request is the head, and this is some time
   * after the head's, for a client that no message has reached.
   */
  readonly askAgainAt: number | undefined;
  /** That time is a turn: the client's waiter lease lasts until 5 s after it. */
  readonly isTurn?: boolean | undefined;
  /** One for each request, in the same order. */
  readonly verdicts: readonly AcquireVerdict[];
}

export interface ExtendCall extends Call {
  /** Life of the tickets from now, in milliseconds. */
  readonly ttl: number;
  /** The tickets. */
  readonly ids: readonly string[];
  /**
   * A token for each id. A ticket with another token was granted again by a call that was late, and
   * the ticket that the caller means is gone. Left out: whatever has the id is extended.
   */
  readonly fencingTokens?: readonly number[] | undefined;
}

export interface ExtendReply extends Reply {
  /** One for each id: false when the ticket is gone. */
  readonly extended: readonly boolean[];
  /** The ids whose tickets an operator revoked, as far as the backend remembers. */
  readonly revoked?: readonly string[] | undefined;
}

export interface ReleaseCall extends Call {
  /**
   * Tickets to give back and queued requests to withdraw: what of the two an id is, only the
   * backend knows for sure.
   */
  readonly ids: readonly string[];
  /**
   * One for each id: what a ticket has spent of budgets in place of what it was charged, which is
   * settled once, when it is given back.
   */
  readonly spent?: readonly (Costs | undefined)[] | undefined;
}

export interface ReleaseReply extends Reply {
  /** One for each id: true when it was a live ticket. */
  readonly released: readonly boolean[];
}

/** A change of a semaphore or of one ticket. */
export interface ChangeCall extends Call {
  /** Server time after which it must change nothing: another change may have been made since. */
  readonly notAfter?: number | undefined;
}

export interface ChangeReply extends Reply {
  /** It came after `notAfter`. */
  readonly late?: boolean;
}

export interface SetLimitCall extends ChangeCall {
  /**
   * 0: no request gets a permit. Undefined: the stored limit is removed, and the limit of each
   * caller counts again.
   */
  readonly newLimit: number | undefined;
}

/** Whether it came too late, beside what every reply says. */
export type SetLimitReply = ChangeReply;

export interface SetRateCall extends ChangeCall {
  /** Undefined: no rate holds a request back. */
  readonly newRate: Rate | undefined;
  /** The name of a budget that it is about. Left out: the rate. */
  readonly budget?: string | undefined;
}

export interface SetGroupLimitCall extends ChangeCall {
  /** Undefined: groups may hold any number, whatever callers name. */
  readonly newGroupLimit: number | undefined;
}

export interface SetRateReply extends ChangeReply {
  /** Nothing was changed: the budgets that count, which are as many as may. */
  readonly full?: readonly string[];
}

export interface AddPermitsCall extends ChangeCall {
  /** What to add to the limit: an integer, negative to take permits away. */
  readonly delta: number;
  /** Made by the caller, as ids of tickets are. */
  readonly id: string;
}

export interface AddPermitsReply extends ChangeReply {
  /** What the change made; undefined where it came late. */
  readonly limit: number | undefined;
  /**
   * It would have gone below 0 or above 2^53 - 1: nothing is changed, and `limit` is the limit
   * that counts.
   */
  readonly refused?: boolean;
}

/** The ticket gets the life, from now, and the label of its new holder. */
export interface AdoptCall extends ChangeCall, Pick<AcquireCall, 'ttl' | 'label'> {
  /**
   * The id that it gets, see `adoptedId`; the first id in it finds the ticket. A call that runs
   * twice gives the same ticket twice.
   */
  readonly newId: string;
}

export interface AdoptReply extends ChangeReply {
  /** Undefined when the ticket is gone. */
  readonly ticket: AdoptedTicket | undefined;
}

/** A ticket that has a new holder, with a higher token than all before, and the slots it had. */
export interface AdoptedTicket extends Ticket {
  /** The id that it had until now. */
  readonly before: string;
}

/** `id`: of the ticket that its holder loses. */
export type RevokeCall = Call & Pick<HolderState, 'id'>;

export interface RevokeReply extends Reply {
  /** False when there was no such ticket. */
  readonly revoked: boolean;
}

/**
 * A question about one semaphore as a whole. Its limit counts, as what else the call names, where
 * no other is known.
 */
export type InspectCall = Pick<Call, 'key' | 'limit'> & Policies;

/** Some of the names in use. */
export interface NamePage {
  /** In no order. */
  readonly names: readonly string[];
  /** Where the next page begins; '' after the last one. */
  readonly cursor: string;
}

/** What a semaphore holds at one moment; see `Semaphore.inspect`. */
export interface InspectReply {
  /** By `limitFrom`. */
  readonly limit: number;
  /**
   * `setLimit`: the stored limit. `caller`: no limit is stored, so the limit of the last caller.
   * `options`: there was no caller within a day, so the limit of this object.
   */
  readonly limitFrom: 'setLimit' | 'caller' | 'options';
  /** Left out where none counts. */
  readonly rate?: RateState | undefined;
  /** By name; left out where none counts. */
  readonly budgets?: Readonly<Record<string, BudgetState>> | undefined;
  /** How many permits each group may hold at once. Left out where no such limit counts. */
  readonly groupLimit?: number | undefined;
  /** Permits, not tickets, that are held. */
  readonly held: number;
  /** Requests, not permits, that wait. */
  readonly waiting: number;
  /** The tickets, by slot. */
  readonly holders: readonly HolderState[];
  /**
   * The requests, in the order in which they will be granted. Requests for more permits than the
   * limit, which has shrunk, come last.
   */
  readonly waiters: readonly WaiterState[];
}

/** The rate that counts; see `Semaphore.inspect`. */
export interface RateState extends Rate {
  /**
   * `setRate`: the stored rate. `caller`: no rate is stored, so the rate of a caller of late.
   * `options`: there was no caller of late, so the rate of this object.
   */
  readonly from: 'setRate' | 'caller' | 'options';
  /** Milliseconds until the rate allows the next permit; 0: it allows a permit now. */
  readonly nextIn: number;
}

/** A budget that counts; see `Semaphore.inspect`. */
export interface BudgetState extends Omit<Rate, 'permits'> {
  /** Units in each period. */
  readonly amount: number;
  /** As of a rate, with `setBudget` in place of `setRate`. */
  readonly from: 'setBudget' | 'caller' | 'options';
  /** How many units of the burst are used now; more than the burst if the budget is in debt. */
  readonly used: number;
}

/** A semaphore in a list of all; what has expired is not counted. */
export interface Overview extends Pick<InspectReply, 'held' | 'waiting'> {
  /** Undefined where no caller has named a limit within a day. */
  readonly limit: number | undefined;
  /** As in `InspectReply`; undefined without a limit. */
  readonly limitFrom: 'setLimit' | 'caller' | undefined;
  /** The longest wait until now, in milliseconds; undefined where no request waits. */
  readonly oldestWait: number | undefined;
  /** Fencing tokens of some tickets, the 32 that expire last; a new grant has a higher token. */
  readonly tokens: readonly number[];
}

/** Why a semaphore cannot be read: another program has written its keys. */
export interface Unreadable {
  /** For people, in the words of the server. */
  readonly error: string;
}

/** What `Backend.overview` says of one semaphore. */
export type OverviewReply = Overview | Unreadable;

/** One ticket; see `Semaphore.inspect`. */
export interface HolderState extends Ticket {
  /** The ticket's id. */
  readonly id: string;
  /** Milliseconds until the ticket expires unless extended. */
  readonly expiresIn: number;
  /** Milliseconds since the permit was granted. */
  readonly heldFor: number;
  /** The holder's `label` option. */
  readonly label: string;
  /** Its `group` option; left out: it has none. */
  readonly group?: string;
}

/** One request that waits; see `Semaphore.inspect`. */
export interface WaiterState extends RequestOrder, Pick<TicketRequest, 'permits'> {
  /** The id of the ticket that it will be. */
  readonly id: string;
  /** 0 is the next to be granted. */
  readonly position: number;
  /** Milliseconds since the request arrived. */
  readonly waitingFor: number;
  /** The waiter's `label` option. */
  readonly label: string;
}

/** A queued request became a ticket. */
export interface PushedGrant extends Ticket {
  /** The request's id, and the ticket's. */
  readonly id: string;
  /** Server time at which the ticket expires unless it is extended: the end of its claim time. */
  readonly expiresAt: number;
}

/** When the rate will allow a queued request that is the next. */
export interface PushedTurn extends Pick<TicketRequest, 'id'> {
  /** Server time. */
  readonly at: number;
}

/** A ticket that was taken from its holder, by what a message says. */
export interface EndedTicket extends Pick<HolderState, 'id'> {
  /** `revoked` by an operator; `missing`: it was adopted elsewhere. */
  readonly reason: 'revoked' | 'missing';
}

/** `name`: the semaphore's. */
export interface GrantListener {
  /** Requests of this client were granted. */
  onGrants(grants: readonly PushedGrant[], name: string): void;
  /** Tickets of this client were taken away. */
  onEnded?(ended: readonly EndedTicket[], name: string): void;
  /** The rate or a budget holds back a request of this client, which is the next. */
  onTurn?(turn: PushedTurn, name: string): void;
  /** `true` when pushes are known to arrive from now on, `false` when they may be lost. */
  onHealth(healthy: boolean): void;
  /**
   * It will not come back by itself, after a refusal for example: close it, and another may
   * be opened after a pause.
   */
  onFailed?(): void;
}

/** A subscription that `listen` opened. */
export interface Listening {
  /** Never rejects. */
  close(): Promise<void>;
}
