import { setImmediate } from 'node:timers';
import type {
  AcquireCall,
  AcquireReply,
  AddPermitsCall,
  AddPermitsReply,
  AdoptCall,
  AdoptReply,
  Backend,
  ExtendCall,
  ExtendReply,
  GrantListener,
  InspectCall,
  InspectReply,
  Listening,
  NamePage,
  OverviewReply,
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
  SetRateCall,
  SetRateReply,
} from '../backend.js';
import { placeOf } from '../place-of.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import type { Clock } from '../../time/clock.js';
import { systemClock } from '../../time/clock.js';
import { checkClock } from '../../options.js';
import { checkOptions } from '../../arguments/known-options.js';
import { allOrNone } from '../all-or-none.js';
import { Inboxes } from './inboxes.js';
import type { MemorySemaphore } from './memory-semaphore.js';
import { Semaphores } from './semaphores.js';

const OPTIONS: ReadonlySet<string> = new Set(['clock']);

/** After how many requests and tickets a reply waits until the event loop has had its turn. */
const MOST_IN_A_ROW = 500;

/** The options of a `MemoryBackend`. */
export interface MemoryBackendOptions {
  /** Default: the process's own clock. Semaphores on this backend use it, too. */
  readonly clock?: Clock | undefined;
}

/**
 * The embedded backend: tickets in this process's memory, no server. It keeps the same promises as
 * Redis, among all semaphores that share the object.
 */
export class MemoryBackend implements Backend {
  readonly clock: Clock;
  /** By place: number of stripes -> when it was last used. */
  readonly #stripes = new Map<string, Map<number, number>>();
  readonly #inboxes = new Inboxes();
  readonly #semaphores = new Semaphores(this.#inboxes);
  readonly #epoch: number;
  /** Requests and tickets in the calls since the event loop had its turn, at most. */
  #inARow = 0;
  #turning: Promise<void> | undefined;

  constructor(options: MemoryBackendOptions = {}) {
    checkOptions(options, OPTIONS);
    this.clock = checkClock(options.clock ?? systemClock);
    this.#epoch = this.clock.wall() - this.clock.monotonic();
  }

  /** @internal Names that take memory. */
  get size(): number {
    return this.#semaphores.size;
  }

  /** See `Backend`. */
  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    const now = this.#now();
    return this.#reply(
      requestsIn(calls),
      calls.map((call) => this.#acquire(call, now)),
    );
  }

  acquireTogether(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[] | undefined> {
    const now = this.#now();
    const together = allOrNone(calls);
    const free = together?.every((call) => this.#isFree(call, now)) === true;
    const replies = free ? together.map((call) => this.#acquire(call, now)) : undefined;
    return this.#reply(requestsIn(calls), replies);
  }

  /** See `Backend`. */
  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    const now = this.#now();
    return this.#reply(
      idsIn(calls),
      calls.map((call) => this.#on(call.key, now, (semaphore) => semaphore.extend(call, now))),
    );
  }

  /** See `Backend`. */
  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    const now = this.#now();
    return this.#reply(
      idsIn(calls),
      calls.map((call) => this.#on(call.key, now, (semaphore) => semaphore.release(call, now))),
    );
  }

  setLimit(call: SetLimitCall): Promise<SetLimitReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.setLimit(call, now));
  }

  setRate(call: SetRateCall): Promise<SetRateReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.setRate(call, now));
  }

  addPermits(call: AddPermitsCall): Promise<AddPermitsReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.addPermits(call, now));
  }

  adopt(call: AdoptCall): Promise<AdoptReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.adopt(call, now));
  }

  revoke(call: RevokeCall): Promise<RevokeReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.revoke(call, now));
  }

  /** See `Backend`. */
  inspect(call: InspectCall): Promise<InspectReply> {
    return this.#one(call.key, (semaphore, now) => semaphore.inspect(call, now));
  }

  /** See `Backend`. */
  overview(keys: readonly SemaphoreKey[]): Promise<readonly OverviewReply[]> {
    const now = this.#now();
    const replies = keys.map((key) => this.#on(key, now, (semaphore) => semaphore.overview(now)));
    return this.#reply(keys.length, replies);
  }

  async listNames(prefix: string): Promise<NamePage> {
    const now = this.#now();
    const start = placeOf({ prefix, name: '' });
    const places = this.#semaphores.placesAt(now).filter((place) => place.startsWith(start));
    return { names: places.map((place) => place.slice(start.length)), cursor: '' };
  }

  async noteStripes({ prefix, name }: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    const [place, now] = [placeOf({ prefix, name }), this.#now()];
    const noted = this.#stripes.get(place) ?? new Map<number, number>();
    for (const [number, at] of noted) if (now - at > KEYS_LIFE_MS) noted.delete(number);
    // The last used come last, so that a look at the first is enough.
    this.#stripes.delete(place);
    this.#stripes.set(place, noted.set(stripes, now));
    for (const [other, numbers] of this.#stripes) {
      if (now - Math.max(...numbers.values()) <= KEYS_LIFE_MS) break;
      this.#stripes.delete(other);
    }
    return [...noted.keys()];
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    return this.#inboxes.open(client, prefix, listener);
  }

  #acquire(call: AcquireCall, now: number): AcquireReply {
    return this.#on(call.key, now, (semaphore) => semaphore.acquire(call, now));
  }

  #isFree(call: AcquireCall, now: number): boolean {
    return this.#on(call.key, now, (semaphore) => semaphore.isFreeFor(call, now));
  }

  #one<R>(key: SemaphoreKey, serve: (semaphore: MemorySemaphore, now: number) => R): Promise<R> {
    const now = this.#now();
    return this.#reply(
      1,
      this.#on(key, now, (semaphore) => serve(semaphore, now)),
    );
  }

  #on<R>(key: SemaphoreKey, now: number, serve: (semaphore: MemorySemaphore) => R): R {
    return this.#semaphores.on(key, now, serve);
  }

  /** `size`: how many requests or tickets the call has. */
  async #reply<R>(size: number, reply: R): Promise<R> {
    this.#inARow += size;
    if (this.#inARow >= MOST_IN_A_ROW) await this.#nextTurn();
    return reply;
  }

  /**
   * A server's replies come from the event loop, one of ours does not: where each makes its caller
   * call again, nothing else would ever run.
   */
  #nextTurn(): Promise<void> {
    this.#turning ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#inARow = 0;
        this.#turning = undefined;
        resolve();
      });
    });
    return this.#turning;
  }

  /** Steps of the wall clock must neither end a ticket nor prolong it. */
  #now(): number {
    return this.#epoch + this.clock.monotonic();
  }
}

function requestsIn(calls: readonly AcquireCall[]): number {
  return calls.reduce((sum, { requests }) => sum + requests.length, 0);
}

function idsIn(calls: readonly { readonly ids: readonly string[] }[]): number {
  return calls.reduce((sum, { ids }) => sum + ids.length, 0);
}
