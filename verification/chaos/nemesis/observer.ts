import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore, type SemaphoreState } from '../../../src/index.js';
import type { SemaphoreSettings } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../history/recorder.js';
import type { Connection } from '../topologies/connect.js';

/** Milliseconds between two reads of the server. */
const PAUSE = 25;
/** Milliseconds by which a read may be late before the process counts as stalled. */
const STALL = 60;

/** A ticket on a slot: its token, and the process that holds it. */
export interface Sighting {
  readonly token: number;
  readonly label: string;
}

/** Reads the state of the server again and again, and records it. */
export class Observer {
  readonly #recorder: Recorder;
  readonly #connection: Connection;
  readonly #semaphore: Semaphore;
  readonly #reading: Promise<void>;
  /** The ticket that was last seen on each slot. */
  readonly slots = new Map<number, Sighting>();
  #stopped = false;

  constructor(connection: Connection, { name, limit, ttl }: SemaphoreSettings, recorder: Recorder) {
    this.#recorder = recorder;
    this.#connection = connection;
    this.#semaphore = new Semaphore(connection.target, name, { limit, ttl });
    this.#reading = this.#readOn();
  }

  /** The state of now, or undefined if the server does not answer. */
  async read(): Promise<SemaphoreState | undefined> {
    const asked = machineTime();
    const state = await this.#semaphore.inspect().catch(() => undefined);
    if (state === undefined) return undefined;
    const holders = state.holders.map(({ id, slots, fencingToken: token, label }) => {
      for (const slot of slots) this.slots.set(slot, { token, label });
      return { id, slots, token };
    });
    this.#recorder.record({ type: 'seen', asked, holders });
    return state;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reading;
    await this.#semaphore.close();
    await this.#connection.close();
  }

  async #readOn(): Promise<void> {
    while (!this.#stopped) {
      await this.read();
      const from = machineTime() + PAUSE;
      await sleep(PAUSE);
      const until = machineTime();
      if (until - from > STALL) this.#recorder.record({ type: 'stall', from, until });
    }
  }
}
