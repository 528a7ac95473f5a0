import type { Backend } from '../backends/backend.js';
import { newClientId } from '../backends/ticket-id.js';
import type { Clock } from '../time/clock.js';
import { ServerClock } from '../time/server-clock.js';
import type { Batchers } from './operations.js';
import { batchersOf } from './operations.js';
import type { Inbox } from './inbox.js';
import { Registry } from './registry.js';
import { WeakGroups } from './weak-groups.js';

const ofBackend = new WeakMap<Backend, WeakMap<Clock, Client>>();

/**
 * This process as one backend knows it: its name, its permits, and its calls, which travel together
 * whatever semaphores they are of.
 */
export class Client {
  readonly name: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly registry: Registry;
  /** By prefix. Their readers, their subscriptions and their timers keep them alive. */
  readonly inboxes: WeakGroups<Inbox> = new WeakGroups();
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
    return this.#batchers.one(`${callTimeoutMs} ${lane}`, () => {
      const isRetryable = (error: unknown): boolean => this.isRetryable(error);
      return batchersOf(this.backend, { clock: this.clock, callTimeoutMs, isRetryable });
    });
  }
}
