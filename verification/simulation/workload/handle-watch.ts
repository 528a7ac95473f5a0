import type { Clock, Handle } from '../../../src/index.js';
import type { NewEvent } from '../../history/events.js';

/** A simulated process, or the process that runs this code. */
export interface Process {
  readonly name: string;
  /** `rate`: milliseconds of the clock in one of true time; left out: 1. */
  readonly clock: Clock & { readonly rate?: number };
  readonly scheduler: { readonly now: number };
  runAt(time: number, run: () => void): unknown;
}

export interface EventLog {
  record(process: string, event: NewEvent): void;
}

/** Milliseconds within which the timer of a handle must find that it is lost. */
const GRACE = 12;

/** Records the certainty of handles whenever their process has run. */
export class HandleWatch {
  readonly #history: EventLog;
  readonly #same: number;
  readonly #handles = new Map<Process, Map<Handle, number>>();

  /** `same`: a certainty that differs by fewer milliseconds is not recorded. */
  constructor(history: EventLog, same: number) {
    this.#history = history;
    this.#same = same;
  }

  /** Gives until when its holder is certain of it. */
  add(process: Process, handle: Handle): number {
    let handles = this.#handles.get(process);
    if (handles === undefined) this.#handles.set(process, (handles = new Map<Handle, number>()));
    const until = this.#certainUntil(process, handle);
    handles.set(handle, until);
    const { id: ticket, fencingToken: token } = handle;
    handle.on('lost', ({ reason }) =>
      this.#history.record(process.name, { type: 'lost', ticket, token, reason }),
    );
    return until;
  }

  remove(process: Process, handle: Handle): void {
    this.#handles.get(process)?.delete(handle);
  }

  forget(process: Process): void {
    this.#handles.delete(process);
  }

  /** Handles whose permits are held now. */
  held(process: Process): Handle[] {
    return [...(this.#handles.get(process)?.keys() ?? [])].filter((handle) => handle.held);
  }

  read(process: Process): void {
    const { now } = process.scheduler;
    for (const [handle, before] of this.#handles.get(process) ?? []) {
      // Reading a handle that has just ended may itself find it lost: its timer should.
      if (now >= before && now < before + GRACE) {
        // Then all handles of the process are read.
        process.runAt(before + GRACE, () => undefined);
        continue;
      }
      const until = this.#certainUntil(process, handle);
      const over = until <= now && before <= now;
      if (over || Math.abs(until - before) < this.#same) continue;
      this.#handles.get(process)?.set(handle, until);
      const { id: ticket, fencingToken: token } = handle;
      this.#history.record(process.name, { type: 'held', ticket, token, until });
    }
  }

  #certainUntil({ clock, scheduler }: Process, handle: Handle): number {
    return scheduler.now + handle.expiresIn / (clock.rate ?? 1);
  }
}
