import type { Handle } from '../../../src/index.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../history/recorder.js';

/** Milliseconds between two readings of all handles. */
const READ_EVERY = 20;
/** A certainty that grew by fewer milliseconds is not recorded. */
const GROWTH = 20;
/** Milliseconds by which a reading may be late before the process counts as stalled. */
const STALL = 60;

interface Watched {
  readonly handle: Handle;
  until: number;
  held: boolean;
}

/** Records the certainty of holders, its end, and the stalls in which no handle could be read. */
export class HolderWatch {
  readonly #recorder: Recorder;
  readonly #watched = new Map<string, Watched>();
  readonly #timer: NodeJS.Timeout;
  #readAt = machineTime();

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
    this.#timer = setInterval(() => this.#readAll(), READ_EVERY);
  }

  /** Gives until when the holder is certain of its ticket, by the machine's clock. */
  add(_: unknown, handle: Handle): number {
    const until = machineTime() + handle.expiresIn;
    const { id: ticket, fencingToken: token } = handle;
    this.#watched.set(ticket, { handle, until, held: true });
    handle.on('lost', ({ reason }) => {
      this.#recorder.record({ type: 'lost', ticket, token, reason });
    });
    return until;
  }

  /** Reads the handle once more, just before the release. */
  remove(_: unknown, handle: Handle): void {
    const watched = this.#watched.get(handle.id);
    if (watched !== undefined) this.#read(watched);
    this.#watched.delete(handle.id);
  }

  /** Handles whose permits are held now. */
  held(): Handle[] {
    return [...this.#watched.values()].flatMap(({ handle }) => (handle.held ? handle : []));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #readAll(): void {
    const now = machineTime();
    const from = this.#readAt + READ_EVERY;
    if (now - from > STALL) this.#recorder.record({ type: 'stall', from, until: now });
    this.#readAt = now;
    for (const watched of this.#watched.values()) this.#read(watched);
  }

  #read(watched: Watched): void {
    const { handle } = watched;
    // The time comes first: the process may be stopped between the two.
    const at = machineTime();
    const until = at + handle.expiresIn;
    const held = until > at;
    if (held === watched.held && (!held || until < watched.until + GROWTH)) return;
    const { id: ticket, fencingToken: token } = handle;
    this.#recorder.record({ type: 'held', at, ticket, token, until });
    watched.held = held;
    watched.until = until;
    // A lost permit may never be released.
    if (!held) this.#watched.delete(ticket);
  }
}
