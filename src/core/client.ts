import type { Backend } from '../backends/backend.js';
import { newClientId, parseTicketId, ticketId } from '../backends/ticket-id.js';
import type { Clock } from '../time/clock.js';
import { ServerClock } from '../time/server-clock.js';
import type { Item, Operation } from './batcher.js';
import { Batcher } from './batcher.js';
import type { Acquires, Caller, Releases, Renewals } from './operations.js';
import { acquireOperation, extendOperation, releaseOperation } from './operations.js';
import { Registry } from './registry.js';
import { WeakGroups } from './weak-groups.js';

const ofBackend = new WeakMap<Backend, WeakMap<Clock, Client>>();

/**
 * This process as one backend knows it: its name, the ids that it makes, and its calls, which
 * travel together whatever semaphores they are of.
 */
export class Client {
  readonly name: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly #serverClock: ServerClock;
  // Their semaphores keep them alive: on a cluster each semaphore has its own.
  readonly #acquires = new WeakGroups<Acquires>();
  readonly #renewals = new WeakGroups<Renewals>();
  readonly #releases = new WeakGroups<Releases>();
  #lastNumber = 0;

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
    this.registry = new Registry(backend, clock, (id) => this.#made(id));
  }

  newTicketId(permits: number): string {
    this.#lastNumber += 1;
    return ticketId(this.name, this.#lastNumber, permits);
  }

  /** Ids of adopted tickets were not made here. */
  #made(id: string): boolean {
    const parts = parseTicketId(id);
    if (parts?.client !== this.name || parts.number > this.#lastNumber) return false;
    return id === ticketId(parts.client, parts.number, parts.permits);
  }

  isRetryable(error: unknown): boolean {
    return this.backend.isRetryable?.(error) ?? true;
  }

  /** Semaphores of different lanes may be on different servers. */
  serverClock(): ServerClock {
    return this.backend.laneOf === undefined ? this.#serverClock : new ServerClock(this.clock);
  }

  /**
   * Where requests travel. Semaphores share a batcher if they share a `lane` and a time limit of a
   * call, in milliseconds.
   */
  acquires(lane: string, callTimeoutMs: number): Acquires {
    return this.#shared(this.#acquires, lane, callTimeoutMs, (backend) =>
      acquireOperation(backend, this.clock, callTimeoutMs),
    );
  }

  renewals(lane: string, callTimeoutMs: number): Renewals {
    return this.#shared(this.#renewals, lane, callTimeoutMs, extendOperation);
  }

  releases(lane: string, callTimeoutMs: number): Releases {
    return this.#shared(this.#releases, lane, callTimeoutMs, releaseOperation);
  }

  #shared<I extends Item<never>, R>(
    batchers: WeakGroups<Batcher<Caller, I, R>>,
    lane: string,
    callTimeoutMs: number,
    operationOf: (backend: Backend) => Operation<Caller, I, R>,
  ): Batcher<Caller, I, R> {
    const name = `${callTimeoutMs} ${lane}`;
    let [batcher] = batchers.of(name);
    if (batcher === undefined) {
      const isRetryable = (error: unknown): boolean => this.isRetryable(error);
      const options = { clock: this.clock, callTimeoutMs, isRetryable };
      batcher = new Batcher(operationOf(this.backend), options);
      batchers.add(name, batcher);
    }
    return batcher;
  }
}
