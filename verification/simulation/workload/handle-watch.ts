import type { Handle } from '../../../src/index.js';
import type { History } from '../history.js';
import type { SimulatedProcess } from '../world/process.js';
import type { Scheduler } from '../world/scheduler.js';

/** A difference of fewer milliseconds does not count. */
const SAME = 0.001;

/** Milliseconds within which the timer of a handle must find that it is lost. */
const GRACE = 12;

/** Records the certainty of handles whenever their process has run. */
export class HandleWatch {
  readonly #scheduler: Scheduler;
  readonly #history: History;
  readonly #handles = new Map<SimulatedProcess, Map<Handle, number>>();

  constructor(scheduler: Scheduler, history: History) {
    this.#scheduler = scheduler;
    this.#history = history;
  }

  /** Gives until when its holder is certain of it. */
  add(process: SimulatedProcess, handle: Handle): number {
    let handles = this.#handles.get(process);
    if (handles === undefined) this.#handles.set(process, (handles = new Map<Handle, number>()));
    const until = this.#certainUntil(process, handle);
    handles.set(handle, until);
    handle.on('lost', ({ reason }) =>
      this.#history.record(process.name, {
        type: 'lost',
        ticket: handle.id,
        token: handle.fencingToken,
        reason,
      }),
    );
    return until;
  }

  remove(process: SimulatedProcess, handle: Handle): void {
    this.#handles.get(process)?.delete(handle);
  }

  forget(process: SimulatedProcess): void {
    this.#handles.delete(process);
  }

  read(process: SimulatedProcess): void {
    const { now } = this.#scheduler;
    for (const [handle, before] of this.#handles.get(process) ?? []) {
      // Reading a handle that has just ended may itself find it lost: its timer should.
      if (now >= before && now < before + GRACE) {
        // Then all handles of the process are read.
        process.runAt(before + GRACE, () => undefined);
        continue;
      }
      const until = this.#certainUntil(process, handle);
      const over = until <= now && before <= now;
      if (over || Math.abs(until - before) < SAME) continue;
      this.#handles.get(process)?.set(handle, until);
      this.#history.record(process.name, {
        type: 'held',
        ticket: handle.id,
        token: handle.fencingToken,
        until,
      });
    }
  }

  #certainUntil({ clock }: SimulatedProcess, handle: Handle): number {
    return this.#scheduler.now + handle.expiresIn / clock.rate;
  }
}
