import { setImmediate } from 'node:timers';
import type {
  AcquireCall,
  AcquireReply,
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
  ReleaseCall,
  ReleaseReply,
  RevokeCall,
  RevokeReply,
  SemaphoreKey,
  SetLimitCall,
  SetLimitReply,
} from '../backend.js';
import { KEYS_LIFE_MS } from '../protocol.js';
import type { Clock } from '../../time/clock.js';
import { systemClock } from '../../time/clock.js';
import { checkClock } from '../../options.js';
import { MemorySemaphore } from './memory-semaphore.js';

/** After how many requests and tickets a reply waits until the event loop has had its turn. */
const MOST_IN_A_ROW = 500;

export interface MemoryBackendOptions {
  /** Default: the process's own clock. Semaphores on this backend use it, too. */
  readonly clock?: Clock;
}

/**
 * The embedded backend: tickets in this process's memory, no server. It keeps the same promises as Redis,
 * among all semaphores that share the object.
 */
export class MemoryBackend implements Backend {
  readonly clock: Clock;
  readonly #semaphores = new Map<string, MemorySemaphore>();
  /** Where the look for those that nobody calls any more goes on. */
  #unlooked = this.#semaphores.entries();
  /** By place: number of stripes -> when it was last used. */
  readonly #stripes = new Map<string, Map<number, number>>();
  readonly #listeners = new Map<string, GrantListener>();
  readonly #epoch: number;
  #lastNumber = 0;
  /** Requests and tickets in the calls since the event loop had its turn, at most. */
  #inARow = 0;
  #turning: Promise<void> | undefined;

  constructor(options: MemoryBackendOptions = {}) {
    this.clock = checkClock(options.clock ?? systemClock);
    this.#epoch = this.clock.wall() - this.clock.monotonic();
  }

  /** @internal Names that take memory. */
  get size(): number {
    return this.#semaphores.size;
  }

  acquire(calls: readonly AcquireCall[]): Promise<readonly AcquireReply[]> {
    return Promise.all(calls.map((call) => this.#acquire(call)));
  }

  #acquire(call: AcquireCall): Promise<AcquireReply> {
    return this.#on(call.key, call.requests.length, (semaphore, now) =>
      semaphore.acquire(call, now),
    );
  }

  extend(calls: readonly ExtendCall[]): Promise<readonly ExtendReply[]> {
    return Promise.all(calls.map((call) => this.#extend(call)));
  }

  #extend(call: ExtendCall): Promise<ExtendReply> {
    return this.#on(call.key, call.ids.length, (semaphore, now) => semaphore.extend(call, now));
  }

  release(calls: readonly ReleaseCall[]): Promise<readonly ReleaseReply[]> {
    return Promise.all(calls.map((call) => this.#release(call)));
  }

  #release(call: ReleaseCall): Promise<ReleaseReply> {
    return this.#on(call.key, call.ids.length, (semaphore, now) => semaphore.release(call, now));
  }

  setLimit(call: SetLimitCall): Promise<SetLimitReply> {
    return this.#on(call.key, 1, (semaphore, now) => semaphore.setLimit(call, now));
  }

  adopt(call: AdoptCall): Promise<AdoptReply> {
    return this.#on(call.key, 1, (semaphore, now) => semaphore.adopt(call, now));
  }

  revoke(call: RevokeCall): Promise<RevokeReply> {
    return this.#on(call.key, 1, (semaphore, now) => semaphore.revoke(call, now));
  }

  inspect(call: InspectCall): Promise<InspectReply> {
    return this.#on(call.key, 1, (semaphore, now) => semaphore.inspect(call.limit, now));
  }

  async listNames(prefix: string): Promise<NamePage> {
    const now = this.#now();
    const start = `${JSON.stringify([prefix]).slice(0, -1)},`;
    const names = [...this.#semaphores].flatMap(([place, semaphore]) => {
      if (!place.startsWith(start) || semaphore.isEmptyAt(now)) return [];
      const name: unknown = JSON.parse(place.slice(start.length, -1));
      return String(name);
    });
    return { names, cursor: '' };
  }

  async noteStripes({ prefix, name }: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    const [place, now] = [JSON.stringify([prefix, name]), this.#now()];
    const noted = this.#stripes.get(place) ?? new Map<number, number>();
    this.#stripes.set(place, noted.set(stripes, now));
    for (const [other, numbers] of this.#stripes) {
      for (const [number, at] of numbers) if (now - at > KEYS_LIFE_MS) numbers.delete(number);
      if (numbers.size === 0) this.#stripes.delete(other);
    }
    return [...noted.keys()];
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    const inbox = JSON.stringify([prefix, client]);
    this.#listeners.set(inbox, listener);
    queueMicrotask(() => {
      if (this.#listeners.get(inbox) === listener) listener.onHealth(true);
    });
    return {
      close: async () => {
        this.#listeners.delete(inbox);
      },
    };
  }

  /** `size`: how many requests or tickets the call has. */
  async #on<R>(
    key: SemaphoreKey,
    size: number,
    operate: (semaphore: MemorySemaphore, now: number) => R,
  ): Promise<R> {
    const place = JSON.stringify([key.prefix, key.name]);
    let semaphore = this.#semaphores.get(place);
    if (semaphore === undefined) {
      this.#forgetExpired();
      semaphore = new MemorySemaphore((now) => this.#nextNumber(now), {
        granted: (client, grants) => this.#tell(key, client, (to) => to.onGrants(grants, key.name)),
        ended: (client, ended) => this.#tell(key, client, (to) => to.onEnded?.([ended], key.name)),
      });
      this.#semaphores.set(place, semaphore);
    }
    const now = this.#now();
    const reply = operate(semaphore, now);
    if (semaphore.isEmptyAt(now)) this.#semaphores.delete(place);
    this.#inARow += size;
    if (this.#inARow >= MOST_IN_A_ROW) await this.#nextTurn();
    return reply;
  }

  /**
   * A server's replies come from the event loop, one of ours does not: where each makes its caller call again, nothing else would
   * ever run.
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

  /**
   * Tickets that were left to expire, in semaphores that are not called again, must not pile up. Each new semaphore looks
   * at two others: so the look gets round, however fast new ones come.
   */
  #forgetExpired(): void {
    for (let looks = 0; looks < 2; looks += 1) {
      const { value } = this.#unlooked.next();
      if (value === undefined) {
        this.#unlooked = this.#semaphores.entries();
        return;
      }
      const [place, semaphore] = value;
      if (semaphore.isEmptyAt(this.#now())) this.#semaphores.delete(place);
    }
  }

  /** Steps of the wall clock must neither end a ticket nor prolong it. */
  #now(): number {
    return this.#epoch + this.clock.monotonic();
  }

  /** Fencing tokens and places in queues: in microseconds, always rising, as on a server. */
  #nextNumber(now: number): number {
    this.#lastNumber = Math.max(this.#lastNumber + 1, Math.floor(now * 1000));
    return this.#lastNumber;
  }

  // Later, as from a server: the caller's own call must return first.
  #tell(key: SemaphoreKey, client: string, message: (to: GrantListener) => void): void {
    const inbox = JSON.stringify([key.prefix, client]);
    queueMicrotask(() => {
      const listener = this.#listeners.get(inbox);
      if (listener !== undefined) message(listener);
    });
  }
}
