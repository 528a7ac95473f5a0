import type { Backend } from '../backends/backend.js';
import { newClientId } from '../backends/ticket-id.js';
import type { Clock } from '../time/clock.js';
import { ServerClock } from '../time/server-clock.js';
import { Batcher } from './batcher.js';
import type { Acquires, Releases, Renewals } from './operations.js';
import { acquireOperation, extendOperation, releaseOperation } from './operations.js';
import { Registry } from './registry.js';
import { WeakGroups } from './weak-groups.js';

const ofBackend = new WeakMap<Backend, WeakMap<Clock, Client>>();

/** Where the calls of semaphores of one lane travel that may take equally long. */
export interface Batchers {
  readonly acquires: Acquires;
  readonly renewals: Renewals;
  readonly releases: Releases;
}

/**
 * This process as one backend knows it: its name, its permits, and its calls, which travel together
 * whatever semaphores they are of.
 */
export class Client {
  readonly name: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly #serverClock: ServerClock;
  // Their semaphores keep them alive: on a cluster each semaphore has its own.
  readonly #batchers = new WeakGroups<Batchers>();

  static of(backend: Backend, clock: Clock): Client {
    let byClock = ofBackend.get(backend);
    if (byClock === undefined) ofBackend.set(backend, (byClock = new WeakMap()));
    let client = byClock.get(clock);
    if (client === undefined) byClock.set(clock, (client = new Client(backend, clock)));
    return client;
  }

  constructor(backend: Backend, clock: Clock) {
    this.name = newClientId(clock.random?.bind(clock));
    this.backend = backend;
    this.clock = clock;
    this.#serverClock = new ServerClock(clock);
    this.registry = new Registry(backend, clock, this.name);
  }

  isRetryable(error: unknown): boolean {
    return this.backend.isRetryable?.(error) ?? true;
  }

  /** Semaphores of different lanes may be on different servers. */
  serverClock(): ServerClock {
    return this.backend.laneOf === undefined ? this.#serverClock : new ServerClock(this.clock);
  }

  /** Shared with what has the same `lane` and the same time limit of a call, in milliseconds. */
  batchers(lane: string, callTimeoutMs: number): Batchers {
    const name = `${callTimeoutMs} ${lane}`;
    let [batchers] = this.#batchers.of(name);
    if (batchers === undefined) {
      const { backend, clock } = this;
      const isRetryable = (error: unknown): boolean => this.isRetryable(error);
      const options = { clock, callTimeoutMs, isRetryable };
      batchers = {
        acquires: new Batcher(acquireOperation(backend, clock, callTimeoutMs), options),
        renewals: new Batcher(extendOperation(backend), options),
        releases: new Batcher(releaseOperation(backend), options),
      };
      this.#batchers.add(name, batchers);
    }
    return batchers;
  }
}
