import type {
  AcquireReply,
  Backend,
  ExtendReply,
  ReleaseReply,
  SemaphoreKey,
} from '../backends/backend.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant } from '../time/clock.js';
import { ServerClock } from '../time/server-clock.js';
import type { WantedTicket } from './acquire-lane.js';
import {
  acquireCall,
  AcquireItem,
  AcquireLane,
  timeWanted,
  settleAcquired,
} from './acquire-lane.js';
import { CallTerms } from './call-terms.js';
import { callTimeout, CallTimeoutError, withTimeout } from '../time/call-timeout.js';
import { DamagedNames } from './damaged-names.js';
import type { HeldTicket } from './extend-lane.js';
import { ExtendItem, ExtendLane } from './extend-lane.js';
import { GrantDispatch } from './grant-dispatch.js';
import { GrantInbox } from './grant-inbox.js';
import type { LaneParts } from './lane.js';
import { MOST_IDS } from './lane.js';
import { Lanes } from './lanes.js';
import { ReleaseItem, ReleaseLane } from './release-lane.js';
import { TicketNumbers } from './ticket-numbers.js';
import { WeakGroups } from './weak-groups.js';

const ofBackend = new WeakMap<Backend, WeakMap<Clock, TicketCalls>>();

export interface TermsOptions {
  readonly limit: number;
  readonly ttl: number;
  readonly label: string;
}

/**
 * What one process asks of one backend about tickets: its name there, its calls, which travel together whatever
 * semaphores they are of, and the inboxes in which grants arrive.
 */
export class TicketCalls {
  readonly dispatch: GrantDispatch;
  readonly #backend: Backend;
  readonly #numbers: TicketNumbers;
  // Its readers, its subscription and its timers keep an inbox alive: unused prefixes take no memory.
  readonly #inboxes = new WeakGroups<GrantInbox>();
  readonly #serverClock: ServerClock;
  readonly #damaged = new DamagedNames();
  readonly #parts: LaneParts;
  readonly #acquires: Lanes<AcquireItem, AcquireReply>;
  readonly #extends: Lanes<ExtendItem, ExtendReply>;
  readonly #releases: Lanes<ReleaseItem, ReleaseReply>;

  static of(backend: Backend, clock: Clock): TicketCalls {
    let byClock = ofBackend.get(backend);
    if (byClock === undefined) ofBackend.set(backend, (byClock = new WeakMap()));
    let calls = byClock.get(clock);
    if (calls === undefined) byClock.set(clock, (calls = new TicketCalls(backend, clock)));
    return calls;
  }

  constructor(backend: Backend, clock: Clock) {
    this.#backend = backend;
    this.#numbers = new TicketNumbers(clock);
    this.#serverClock = new ServerClock(clock);
    this.dispatch = new GrantDispatch(backend, this.#numbers, clock);
    const isRetryable = (error: unknown): boolean => backend.isRetryable?.(error) ?? true;
    const parts = { clock, isRetryable };
    this.#parts = parts;
    this.#acquires = new Lanes((limit) => new AcquireLane(backend, parts, limit));
    this.#extends = new Lanes((limit) => new ExtendLane(backend, parts, limit));
    this.#releases = new Lanes((limit) => new ReleaseLane(backend, parts, limit));
  }

  newTicketId(permits: number): string {
    return this.#numbers.next(permits);
  }

  /** Where grants are pushed to requests of this process under the prefix. */
  inbox(prefix: string): GrantInbox {
    let [inbox] = this.#inboxes.of(prefix);
    if (inbox === undefined) {
      const { client } = this.#numbers;
      inbox = new GrantInbox(this.#backend, client, prefix, this.#parts.clock, this.dispatch);
      this.#inboxes.add(prefix, inbox);
    }
    return inbox;
  }

  terms(key: SemaphoreKey, { limit, ttl, label }: TermsOptions): CallTerms {
    const { clock } = this.#parts;
    const lane = this.#backend.laneOf?.(key) ?? '';
    // Semaphores of different lanes may be on different servers.
    const serverClock =
      this.#backend.laneOf === undefined ? this.#serverClock : new ServerClock(clock);
    const call = { key, limit, client: this.#numbers.client };
    const damaged = this.#damaged;
    const { dispatch } = this;
    return new CallTerms({ call, ttl, label, lane, serverClock, damaged, dispatch });
  }

  isRetryable(error: unknown): boolean {
    return this.#parts.isRetryable(error);
  }

  acquire(terms: CallTerms, wanted: WantedTicket): AcquireItem {
    const item = new AcquireItem(terms, wanted);
    this.#acquires.add(item, callTimeout(terms.ttl));
    return item;
  }

  /** `limit`: how long the call may take, in milliseconds. */
  extend(terms: CallTerms, ticket: HeldTicket, limit: number): ExtendItem {
    const item = new ExtendItem(terms, ticket);
    this.#extends.add(item, limit);
    return item;
  }

  /** Gives a ticket back or withdraws a request: which of the two an id is, only the backend knows for sure. */
  release(terms: CallTerms, id: string): ReleaseItem {
    const item = new ReleaseItem(terms, id);
    this.#releases.add(item, callTimeout(terms.ttl));
    return item;
  }

  /** Whether one call can take a ticket of each of them, or none. */
  canTakeTogether(all: readonly CallTerms[]): boolean {
    const [first] = all;
    const names = new Set(all.map(({ name }) => name));
    const sharable = all.length > 1 && all.length <= MOST_IDS && names.size === all.length;
    return (
      this.#backend.acquireTogether !== undefined &&
      sharable &&
      all.every(({ lane }) => lane === first?.lane)
    );
  }

  /**
   * Takes one ticket of each semaphore, or nothing, in a call that is shared with no other. False when one was not free.
   * @throws what the backend throws, or a `CallTimeoutError`: then each may have been granted
   */
  async acquireTogether(items: readonly AcquireItem[]): Promise<boolean> {
    const { clock } = this.#parts;
    const sent = instant(clock);
    const limit = Math.min(...items.map(({ terms }) => callTimeout(terms.ttl)));
    for (const item of items) item.sent = true;
    const wantedFor = Math.min(timeWanted(items, sent.monotonic), limit);
    const notAfter = items[0]?.terms.serverClock.latestIn(wantedFor);
    const calls = items.map((item) => acquireCall(item.terms, [item], notAfter));
    const call = this.#backend.acquireTogether?.(calls) ?? Promise.resolve(undefined);
    try {
      return this.#settleTogether(items, await withTimeout(clock, limit, call), sent);
    } catch (error) {
      const onLate = (replies: Replies): boolean => this.#settleTogether(items, replies, sent);
      if (error instanceof CallTimeoutError) void call.then(onLate).catch(() => undefined);
      throw error;
    }
  }

  #settleTogether(items: readonly AcquireItem[], replies: Replies, sent: Instant): boolean {
    if (replies === undefined) return false;
    items.forEach((item, i) => {
      const reply = replies[i];
      if (reply === undefined) throw new Error('the backend sent fewer replies than it got calls');
      item.terms.observe(sent, reply);
      settleAcquired([item], reply, sent);
    });
    return true;
  }
}

type Replies = readonly AcquireReply[] | undefined;
