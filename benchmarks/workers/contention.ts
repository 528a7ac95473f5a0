import { setTimeout as sleep } from 'node:timers/promises';

import type { Connection } from '../peers/adapter.js';
import { monotonicMs } from './monotonic.js';
import type { ContendTask, HoldRecord } from './protocol.js';

const ttl = 30_000;

/** Callers that want the same few permits, again and again, until the process ends. */
export class Contention {
  readonly records: HoldRecord[] = [];
  granted = 0;

  start(connection: Connection, task: ContendTask): null {
    for (let caller = 0; caller < task.callers; caller += 1) {
      this.#contend(connection, task, caller).catch((error: unknown) => {
        // Ends the process; its parent then reports what was printed.
        process.nextTick(() => {
          throw error;
        });
      });
    }
    return null;
  }

  async #contend(connection: Connection, task: ContendTask, caller: number): Promise<void> {
    for (;;) {
      const record = { caller, asked: monotonicMs(), granted: 0, released: 0 };
      if (task.record) this.records.push(record);
      const release = await connection.acquire(task.name, task.limit, ttl, task.wanted);
      record.granted = monotonicMs();
      this.granted += 1;
      if (task.hold > 0) await sleep(task.hold);
      record.released = monotonicMs();
      if (!(await release())) throw new Error('a permit was lost while it was held');
      if (task.think > 0) await sleep(task.think);
    }
  }
}
