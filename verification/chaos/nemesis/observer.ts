import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore, type SemaphoreState } from '../../../src/index.js';
import type { SemaphoreTerms } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../history/recorder.js';
import { type Address, connect, type Connection } from '../topologies/connect.js';

/** Pause between two looks, in milliseconds. */
const PAUSE = 25;
/** How late a look may come before that counts as standing still. */
const STALL = 60;

/** A ticket on a slot: its token, and whose it is (host:pid). */
export interface Sighting {
  readonly token: number;
  readonly label: string;
}

/** Looks at the server again and again, and records its state. */
export class Observer {
  readonly #recorder: Recorder;
  readonly #connection: Connection;
  readonly #semaphore: Semaphore;
  readonly #looking: Promise<void>;
  readonly #slots = new Map<number, Sighting>();
  #stopped = false;

  static async start(
    address: Address,
    terms: SemaphoreTerms,
    recorder: Recorder,
  ): Promise<Observer> {
    return new Observer(await connect(address), terms, recorder);
  }

  private constructor(
    connection: Connection,
    { name, limit, ttl }: SemaphoreTerms,
    recorder: Recorder,
  ) {
    this.#recorder = recorder;
    this.#connection = connection;
    this.#semaphore = new Semaphore(connection.target, name, { limit, ttl });
    this.#looking = this.#lookOn();
  }

  /** The ticket that was last seen on each slot. */
  get slots(): ReadonlyMap<number, Sighting> {
    return this.#slots;
  }

  /** The tickets of now, or undefined if the server does not answer. */
  async look(): Promise<SemaphoreState | undefined> {
    const asked = machineTime();
    const state = await this.#semaphore.inspect().catch(() => undefined);
    if (state === undefined) return undefined;
    const holders = state.holders.map(({ id, slots, fencingToken: token, label }) => {
      for (const slot of slots) this.#slots.set(slot, { token, label });
      return { id, slots, token };
    });
    const waiters = state.waiters.map(({ id }) => id);
    this.#recorder.record({ type: 'seen', asked, holders, waiters });
    return state;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
    await this.#semaphore.close();
    await this.#connection.close();
  }

  async #lookOn(): Promise<void> {
    while (!this.#stopped) {
      await this.look();
      const from = machineTime() + PAUSE;
      await sleep(PAUSE);
      const until = machineTime();
      if (until - from > STALL) this.#recorder.record({ type: 'stall', from, until });
    }
  }
}
