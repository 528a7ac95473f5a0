import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore, type SemaphoreState } from '../../../src/index.js';
import type { SemaphoreSettings } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../../history/recorder.js';
import type { Connection } from '../topologies/connect.js';

/** Milliseconds between two reads of the server. */
const PAUSE = 25;
/** Milliseconds by which a read may be late before the process counts as stalled. */
const STALL = 60;

export type Observer = ReturnType<typeof observe>;

/** Reads the state of the server again and again, and records it. */
export function observe(
  connection: Connection,
  { name, limit, ttl }: SemaphoreSettings,
  recorder: Recorder,
) {
  const semaphore = new Semaphore(connection.target, name, { limit, ttl });
  /** The ticket that was last seen on each slot: its token, and the process that holds it. */
  const slots = new Map<number, { readonly token: number; readonly label: string }>();
  const stopping = new AbortController();
  /** The state of now, or undefined if the server does not answer. */
  const read = async (): Promise<SemaphoreState | undefined> => {
    const asked = machineTime();
    const state = await semaphore.inspect().catch(() => undefined);
    const holders = state?.holders.map(({ id, slots: own, fencingToken: token, label }) => {
      for (const slot of own) slots.set(slot, { token, label });
      return { id, slots: own, token };
    });
    if (holders !== undefined) recorder.record({ type: 'seen', asked, holders });
    return state;
  };
  const readOn = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await read();
      const from = machineTime() + PAUSE;
      await sleep(PAUSE);
      const until = machineTime();
      if (until - from > STALL) recorder.record({ type: 'stall', from, until });
    }
  };
  const reading = readOn();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await reading;
    await semaphore.close();
    await connection.close();
  };
  return { slots, read, stop };
}
