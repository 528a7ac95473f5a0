import { setImmediate } from 'node:timers';
import type * as port from '../backend.js';
import { checkOptions } from '../../arguments/known-options.js';
import { checkClock } from '../../options.js';
import type { Clock } from '../../time/clock.js';
import { systemClock } from '../../time/clock.js';
import { allOrNone } from '../all-or-none.js';
import { overviewOf } from '../overview-of.js';
import { placeOf } from '../place-of.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import { adopt, giveBack, renewEach, revoke } from './holders.js';
import { inspect } from './inspect.js';
import { Names } from './names.js';
import { acquire, isFree } from './requests.js';
import { addPermits, setLimit, setRate } from './rules.js';
import type { Semaphore } from './semaphore.js';

const OPTIONS: ReadonlySet<string> = new Set(['clock']);

/** After how many requests and tickets a reply waits until the event loop has had its turn. */
const MOST_IN_A_ROW = 500;

/** The options of a `MemoryBackend`. */
export interface MemoryBackendOptions {
  /** Default: the process's own clock. Semaphores on this backend use it, too. */
  readonly clock?: Clock;
}

interface AnyCall {
  readonly key: port.SemaphoreKey;
  readonly requests?: readonly unknown[];
  readonly ids?: readonly unknown[];
}

type Serve<C, R> = (semaphore: Semaphore, call: C, now: number) => R;

/**
 * The embedded backend: tickets in this process's memory, no server. It keeps the same promises as
 * Redis, among all semaphores that share the object.
 */
export class MemoryBackend implements port.Backend {
  readonly clock: Clock;
  /** By place: number of stripes -> when it was last used. */
  readonly #stripes = new Map<string, Map<number, number>>();
  readonly #names = new Names();
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
    return this.#names.size;
  }

  /** See `Backend`. */
  acquire(calls: readonly port.AcquireCall[]): Promise<readonly port.AcquireReply[]> {
    return this.#each(calls, acquire);
  }

  acquireTogether(
    calls: readonly port.AcquireCall[],
  ): Promise<readonly port.AcquireReply[] | undefined> {
    const together = allOrNone(calls);
    const now = this.#now();
    const free = together?.every((call) => this.#serve(call, isFree, now)) === true;
    return free ? this.#each(together, acquire) : this.#reply(undefined);
  }

  /** See `Backend`. */
  extend(calls: readonly port.ExtendCall[]): Promise<readonly port.ExtendReply[]> {
    return this.#each(calls, renewEach);
  }

  /** See `Backend`. */
  release(calls: readonly port.ReleaseCall[]): Promise<readonly port.ReleaseReply[]> {
    return this.#each(calls, giveBack);
  }

  setLimit(call: port.SetLimitCall): Promise<port.SetLimitReply> {
    return this.#one(call, setLimit);
  }

  setRate(call: port.SetRateCall): Promise<port.SetRateReply> {
    return this.#one(call, setRate);
  }

  addPermits(call: port.AddPermitsCall): Promise<port.AddPermitsReply> {
    return this.#one(call, addPermits);
  }

  adopt(call: port.AdoptCall): Promise<port.AdoptReply> {
    return this.#one(call, adopt);
  }

  revoke(call: port.RevokeCall): Promise<port.RevokeReply> {
    return this.#one(call, revoke);
  }

  /** See `Backend`. */
  inspect(call: port.InspectCall): Promise<port.InspectReply> {
    return this.#one(call, inspect);
  }

  /** See `Backend`. */
  overview(keys: readonly port.SemaphoreKey[]): Promise<readonly port.OverviewReply[]> {
    const calls = keys.map((key) => ({ key, limit: 0 }));
    return this.#each(calls, (...call) => overviewOf(inspect(...call)));
  }

  async listNames(prefix: string): Promise<port.NamePage> {
    const start = placeOf({ prefix, name: '' });
    const places = this.#names.placesAt(this.#now()).filter((place) => place.startsWith(start));
    return { names: places.map((place) => place.slice(start.length)), cursor: '' };
  }

  async noteStripes(
    { prefix, name }: port.SemaphoreKey,
    stripes: number,
  ): Promise<readonly number[]> {
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

  listen(client: string, prefix: string, listener: port.GrantListener): port.Listening {
    return this.#names.server.inboxes.open(client, prefix, listener);
  }

  #each<C extends AnyCall, R>(calls: readonly C[], serve: Serve<C, R>): Promise<readonly R[]> {
    const now = this.#now();
    return this.#reply(calls.map((call) => this.#serve(call, serve, now)));
  }

  #one<C extends AnyCall, R>(call: C, serve: Serve<C, R>): Promise<R> {
    return this.#reply(this.#serve(call, serve, this.#now()));
  }

  #serve<C extends AnyCall, R>(call: C, serve: Serve<C, R>, now: number): R {
    const semaphore = this.#names.find(call.key, now);
    const reply = serve(semaphore, call, now);
    this.#names.settle(semaphore, now);
    this.#inARow += (call.requests ?? call.ids)?.length ?? 1;
    return reply;
  }

  async #reply<R>(reply: R): Promise<R> {
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
