import { setImmediate } from 'node:timers/promises';
import type * as port from '../backend.js';
import { checkOptions } from '../../arguments/known-options.js';
import { checkClock } from '../../arguments/resolve.js';
import { systemClock, type Clock } from '../../time/clock.js';
import { overviewOf } from '../overview-of.js';
import { mapKeyOf } from '../map-key.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import { close } from './close.js';
import * as script from './calls.js';
import { Names } from './names.js';
import { acquire, isFree } from './requests.js';
import { open, type Semaphore } from './semaphore.js';
import { serve } from './serve.js';

/** After how many requests and tickets a reply waits until the event loop has had its turn. */
const MOST_IN_A_ROW = 500;

/** The options of a `MemoryBackend`. */
export interface MemoryBackendOptions {
  /** Default: the process's own clock. Semaphores on this backend use it, too. */
  readonly clock?: Clock | undefined;
}

interface AnyCall extends port.Call {
  readonly requests?: readonly unknown[];
  readonly ids?: readonly unknown[];
}

/** The work of a call before permits are granted. */
type Act<C, R> = (semaphore: Semaphore, call: C) => R;

/**
 * The embedded backend: tickets in this process's memory, no server. It keeps the same promises as
 * Redis, among all semaphores that share the object.
 */
export class MemoryBackend implements port.Backend {
  readonly clock: Clock;
  /** By map key: number of stripes -> when it was last used. */
  readonly #stripes = new Map<string, Map<number, number>>();
  readonly #names = new Names();
  readonly #epoch: number;
  /** Requests and tickets in the calls since the event loop had its turn, at most. */
  #inARow = 0;
  #turning: Promise<void> | undefined;

  constructor(options: MemoryBackendOptions = {}) {
    checkOptions(options, 'clock');
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
    const now = this.#now();
    const isFreeNow = (call: port.AcquireCall): boolean =>
      this.#on(call.key, now, (semaphore) => isFree(semaphore, call, now));
    return calls.every(isFreeNow)
      ? this.#each(calls, acquire)
      : this.#reply(calls.length, undefined);
  }

  /** See `Backend`. */
  extend(calls: readonly port.ExtendCall[]): Promise<readonly port.ExtendReply[]> {
    return this.#each(calls, script.renewEach);
  }

  /** See `Backend`. */
  release(calls: readonly port.ReleaseCall[]): Promise<readonly port.ReleaseReply[]> {
    return this.#each(calls, script.giveBack);
  }

  setLimit(call: port.SetLimitCall): Promise<port.SetLimitReply> {
    return this.#one(call, script.setLimit);
  }

  setRate(call: port.SetRateCall): Promise<port.SetRateReply> {
    return this.#one(call, script.setRate);
  }

  setGroupLimit(call: port.SetGroupLimitCall): Promise<port.SetRateReply> {
    return this.#one(call, script.setGroupLimit);
  }

  addPermits(call: port.AddPermitsCall): Promise<port.AddPermitsReply> {
    return this.#one(call, script.addPermits);
  }

  adopt(call: port.AdoptCall): Promise<port.AdoptReply> {
    return this.#one(call, script.adopt);
  }

  revoke(call: port.RevokeCall): Promise<port.RevokeReply> {
    return this.#one(call, script.revoke);
  }

  /** See `Backend`. */
  inspect(call: port.InspectCall): Promise<port.InspectReply> {
    return this.#reply(1, this.#inspect(call));
  }

  /** See `Backend`. */
  overview(keys: readonly port.SemaphoreKey[]): Promise<readonly port.OverviewReply[]> {
    return this.#reply(
      keys.length,
      keys.map((key) => overviewOf(this.#inspect({ key, limit: 0 }))),
    );
  }

  async listNames(prefix: string): Promise<port.NamePage> {
    const start = mapKeyOf({ prefix, name: '' });
    const mapKeys = this.#names.mapKeysAt(this.#now()).filter((mapKey) => mapKey.startsWith(start));
    return { names: mapKeys.map((mapKey) => mapKey.slice(start.length)), cursor: '' };
  }

  async noteStripes(
    { prefix, name }: port.SemaphoreKey,
    stripes: number,
  ): Promise<readonly number[]> {
    const [mapKey, now] = [mapKeyOf({ prefix, name }), this.#now()];
    const noted = this.#stripes.get(mapKey) ?? new Map<number, number>();
    for (const [number, at] of noted) if (now - at > KEYS_LIFE_MS) noted.delete(number);
    // The last used comes last: the loop ends at the first that still counts.
    this.#stripes.delete(mapKey);
    this.#stripes.set(mapKey, noted.set(stripes, now));
    for (const [other, numbers] of this.#stripes) {
      if (now - Math.max(...numbers.values()) <= KEYS_LIFE_MS) break;
      this.#stripes.delete(other);
    }
    return [...noted.keys()];
  }

  listen(client: string, prefix: string, listener: port.GrantListener): port.Listening {
    return this.#names.server.inboxes.open(client, prefix, listener);
  }

  #each<C extends AnyCall, R>(calls: readonly C[], act: Act<C, R>): Promise<(R & port.Reply)[]> {
    const now = this.#now();
    let size = 0;
    for (const { requests, ids } of calls) size += (requests ?? ids)?.length ?? 1;
    return this.#reply(
      size,
      calls.map((call) => this.#run(call, act, now)),
    );
  }

  #one<C extends AnyCall, R>(call: C, act: Act<C, R>): Promise<R & port.Reply> {
    return this.#reply(1, this.#run(call, act, this.#now()));
  }

  /** The begin and the end of every call. */
  #run<C extends AnyCall, R>(call: C, act: Act<C, R>, now: number): R & port.Reply {
    // Without a closure, which a lone pair would pay for twice.
    const semaphore = this.#names.find(call.key, now);
    open(semaphore, call, now);
    const said = act(semaphore, call);
    // A call that asks has served the queue before, and with each request.
    if (semaphore.asked === undefined) serve(semaphore);
    const reply = Object.assign(close(semaphore), said);
    this.#names.settle(semaphore, now);
    return reply;
  }

  #inspect(call: port.InspectCall): port.InspectReply {
    const now = this.#now();
    return this.#on(call.key, now, (semaphore) => script.inspect(semaphore, call, now));
  }

  #on<R>(key: port.SemaphoreKey, now: number, use: (semaphore: Semaphore) => R): R {
    const semaphore = this.#names.find(key, now);
    const reply = use(semaphore);
    this.#names.settle(semaphore, now);
    return reply;
  }

  /** `size`: how many requests and tickets the call has. */
  #reply<R>(size: number, reply: R): Promise<R> {
    this.#inARow += size;
    if (this.#inARow < MOST_IN_A_ROW) return Promise.resolve(reply);
    this.#turning ??= this.#nextTurn();
    return this.#turning.then(() => reply);
  }

  /**
   * A server's replies come from the event loop, these replies do not: if each made its caller call
   * again, nothing else would ever run.
   */
  async #nextTurn(): Promise<void> {
    await setImmediate();
    this.#inARow = 0;
    this.#turning = undefined;
  }

  /** Steps of the wall clock must neither end a ticket nor prolong it. */
  #now(): number {
    return this.#epoch + this.clock.monotonic();
  }
}
