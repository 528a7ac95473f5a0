import type { Handle } from '../../../src/index.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../history/recorder.js';

/** How often handles are looked at, in milliseconds. */
const LOOK_EVERY = 20;
/** A certainty that grew by less is not worth a line. */
const GROWTH = 20;
/** How late a look may come before that counts as standing still. */
const STALL = 60;

interface Watched {
  readonly handle: Handle;
  until: number;
  held: boolean;
}

/**
 * Records what holders can know: how far their certainty reaches, that it is over, and that they
 * could not look.
 */
export class HolderWatch {
  readonly #recorder: Recorder;
  readonly #watched = new Map<string, Watched>();
  readonly #timer: NodeJS.Timeout;
  #lookedAt = machineTime();

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
    this.#timer = setInterval(() => this.#lookAtAll(), LOOK_EVERY);
  }

  /** `until`: as it was recorded with the grant. */
  watch(handle: Handle, until: number): void {
    this.#watched.set(handle.id, { handle, until, held: true });
  }

  /** Looks once more, just before the release. */
  unwatch(handle: Handle): void {
    const watched = this.#watched.get(handle.id);
    if (watched !== undefined) this.#look(watched);
    this.#watched.delete(handle.id);
  }

  /** Handles whose permits are held now. */
  held(): Handle[] {
    return [...this.#watched.values()].flatMap(({ handle }) => (handle.held ? handle : []));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #lookAtAll(): void {
    const now = machineTime();
    const from = this.#lookedAt + LOOK_EVERY;
    if (now - from > STALL) this.#recorder.record({ type: 'stall', from, until: now });
    this.#lookedAt = now;
    for (const watched of this.#watched.values()) this.#look(watched);
  }

  #look(watched: Watched): void {
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
  }
}

/** Until when a holder is certain of its ticket, by the machine's clock. */
export function certainUntil(handle: Handle): number {
  const now = machineTime();
  return now + handle.expiresIn;
}
