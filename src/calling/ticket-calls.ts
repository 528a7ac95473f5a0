import type { AcquireReply, Backend, SemaphoreKey } from '../backends/backend.js';
import type { Clock } from '../time/clock.js';
import { instant, nextTick } from '../time/clock.js';
import { ServerClock } from '../time/server-clock.js';
import type { AcquireGroup } from './acquire-lane.js';
import { acquireCall, AcquireLane, timeWanted } from './acquire-lane.js';
import type { TermsOptions } from './call-terms.js';
import { CallTerms } from './call-terms.js';
import { callTimeout, withTimeout } from '../time/call-timeout.js';
import { DamagedNames } from './damaged-names.js';
import { ExtendLane } from './extend-lane.js';
import { GrantDispatch } from './grant-dispatch.js';
import { GrantInbox } from './grant-inbox.js';
import type { LaneParts } from './lane.js';
import { deliver, MOST_IDS } from './lane.js';
import { Lanes } from './lanes.js';
import { isRetryable } from './retry.js';
import { ReleaseLane } from './release-lane.js';
import { TicketNumbers } from './ticket-numbers.js';
import { WeakGroups } from './weak-groups.js';

const ofBackend = new WeakMap<Backend, WeakMap<Clock, TicketCalls>>();

/**
 * What one process asks of one backend about tickets: its name there, its calls, which travel
 * together whatever semaphores they are of, and the inboxes in which grants arrive.
 */
export class TicketCalls {
  readonly dispatch: GrantDispatch;
  readonly #backend: Backend;
  readonly #numbers: TicketNumbers;
  // Its readers, its subscription and its timers keep an inbox alive: unused prefixes take no
  // memory.
  readonly #inboxes = new WeakGroups<GrantInbox>();
  readonly #serverClock: ServerClock;
  readonly #damaged = new DamagedNames();
  readonly #parts: LaneParts;
  readonly #acquires: Lanes<AcquireLane>;
  readonly #extends: Lanes<ExtendLane>;
  readonly #releases: Lanes<ReleaseLane>;

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
    const parts = { clock, isRetryable: (error: unknown) => isRetryable(backend, error) };
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

  terms(key: SemaphoreKey, options: TermsOptions & { readonly limit: number }): CallTerms {
    const { clock } = this.#parts;
    const lane = this.#backend.laneOf?.(key) ?? '';
    // Semaphores of different lanes may be on different servers.
    const serverClock =
      this.#backend.laneOf === undefined ? this.#serverClock : new ServerClock(clock);
    const call = { key, limit: options.limit, client: this.#numbers.client };
    const shared = { damaged: this.#damaged, dispatch: this.dispatch };
    return new CallTerms({ ...options, ...shared, call, lane, serverClock });
  }

  isRetryable(error: unknown): boolean {
    return this.#parts.isRetryable(error);
  }

  /** Where requests of such terms travel. Its users keep it alive. */
  acquireLane(terms: CallTerms): AcquireLane {
    return this.#acquires.of(terms, callTimeout(terms.ttl));
  }

  /** `limit`: how long a call may take, in milliseconds. */
  extendLane(terms: CallTerms, limit: number): ExtendLane {
    return this.#extends.of(terms, limit);
  }

  releaseLane(terms: CallTerms): ReleaseLane {
    return this.#releases.of(terms, callTimeout(terms.ttl));
  }

  /** Whether one call can take a ticket of each of them, or none. */
  canTakeTogether(all: readonly CallTerms[]): boolean {
    const [first] = all;
    const names = new Set(all.map(({ name }) => name));
    const sharable = all.length > 1 && all.length <= MOST_IDS && names.size === all.length;
    return (
      this.#backend.acquireTogether !== undefined &&
      sharable &&
      all.every(({ lane, rate }) => lane === first?.lane && rate === undefined)
    );
  }

  /**
   * Takes one ticket of each semaphore, or nothing, in a call that is shared with no other. False
   * when one was not free.
   * @throws what the backend throws, or a `CallTimeoutError`: then each may have been granted
   */
  async acquireTogether(groups: readonly AcquireGroup[]): Promise<boolean> {
    const { clock } = this.#parts;
    const items = groups.flatMap((group) => group.items);
    // Behind what was given back before, in the same turn.
    await new Promise<void>((resolve) => nextTick(resolve));
    if (items.some(({ cancelled }) => cancelled)) return false;
    const sent = instant(clock);
    const limit = Math.min(...groups.map(({ sender }) => callTimeout(sender.terms.ttl)));
    for (const item of items) item.sent = true;
    const wantedFor = Math.min(timeWanted(items, sent.monotonic), limit);
    const notAfter = groups[0]?.sender.terms.serverClock.latestIn(wantedFor);
    const calls = groups.map((group) => acquireCall(group.sender.terms, group.items, notAfter));
    const call = this.#backend.acquireTogether?.(calls) ?? Promise.resolve(undefined);
    try {
      const replies = await withTimeout(clock, limit, call);
      if (replies !== undefined) deliver(groups, replies, sent, false);
      return replies !== undefined;
    } catch (error) {
      const onLate = (replies: readonly AcquireReply[] = []): void =>
        deliver(groups, replies, sent, true);
      void call.then(onLate).catch(() => undefined);
      throw error;
    }
  }
}
