import { setTimeout as sleep } from 'node:timers/promises';

import type { Connection, Wanted } from '../peers/adapter.js';
import { machineTime } from '../../verification/history/machine-time.js';

export interface ContendTask {
  readonly name: string;
  readonly limit: number;
  readonly callers: number;
  /** Milliseconds for which a permit is held. */
  readonly hold: number;
  /** Milliseconds between giving a permit back and asking for the next. */
  readonly think: number;
  /** Whether each hold is recorded, or only counted. */
  readonly record: boolean;
  readonly wanted?: Wanted;
}

/**
 * A wait and a hold of a caller, in ms. A time that has not come yet is 0, because JSON has no
 * Infinity.
 */
export interface HoldRecord {
  readonly caller: number;
  readonly asked: number;
  granted: number;
  released: number;
}

const ttl = 30_000;

/** The holds of all callers so far. */
export const records: HoldRecord[] = [];
let granted = 0;

/** The number of permits that all callers got so far. */
export const tally = (): number => granted;

/** Starts callers that want the same few permits, again and again, until the process ends. */
export function contend(connection: Connection, task: ContendTask): void {
  // An error of a caller ends the process; its parent then reports the output.
  for (let caller = 0; caller < task.callers; caller += 1) void repeat(connection, task, caller);
}

async function repeat(connection: Connection, task: ContendTask, caller: number): Promise<void> {
  for (;;) {
    const record = { caller, asked: machineTime(), granted: 0, released: 0 };
    if (task.record) records.push(record);
    const release = await connection.acquire(task.name, task.limit, ttl, task.wanted);
    record.granted = machineTime();
    granted += 1;
    if (task.hold > 0) await sleep(task.hold);
    record.released = machineTime();
    if (!(await release())) throw new Error('a permit was lost while it was held');
    if (task.think > 0) await sleep(task.think);
  }
}
