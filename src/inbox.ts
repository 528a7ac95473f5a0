import type { Backend, EndedTicket, Listening, PushedGrant } from './backend.js';
import type { Clock, Timer } from './clock.js';

/** How long a subscription outlives its last waiter, in milliseconds, so that it need not be made anew each time. */
const LINGER = 10_000;

/** Someone who waits for grants. */
export interface InboxReader {
  /** True when the grant was for this reader. */
  onGrant(grant: PushedGrant): boolean;
  onHealth(healthy: boolean): void;
}

/**
 * Where pushed grants arrive: one subscription for all semaphores with one prefix on one client object,
 * made when somebody first waits and gone some time after nobody does.
 */
export class Inbox {
  readonly #clock: Clock;
  readonly #open: ((inbox: Inbox) => Listening) | undefined;
  readonly #onEnded: (ended: EndedTicket) => void;
  readonly #readers = new Set<InboxReader>();
  /** Those among them for whom something will be pushed. */
  readonly #waiting = new Set<InboxReader>();
  #listening: Listening | undefined;
  #linger: Timer | undefined;
  #healthy = false;

  constructor(
    backend: Backend,
    client: string,
    prefix: string,
    clock: Clock,
    onEnded: (ended: EndedTicket) => void,
  ) {
    this.#clock = clock;
    this.#onEnded = onEnded;
    const listen = backend.listen?.bind(backend);
    this.#open = listen && ((inbox) => listen(client, prefix, inbox.#listener));
  }

  /** Whether a grant is sure to be pushed. */
  get healthy(): boolean {
    return this.#healthy;
  }

  /** What is pushed to `reader` is handed to it, if a subscription stands already: its push may overtake the reply to its call. */
  add(reader: InboxReader): void {
    this.#readers.add(reader);
  }

  /** As `add`, and sees to it that there is a subscription. */
  await(reader: InboxReader): void {
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#readers.add(reader);
    this.#waiting.add(reader);
    this.#listening ??= this.#open?.(this);
  }

  remove(reader: InboxReader): void {
    this.#readers.delete(reader);
    if (!this.#waiting.delete(reader) || this.#waiting.size > 0) return;
    if (this.#listening === undefined) return;
    // A subscriber that cannot connect would keep the process alive by trying.
    if (!this.#healthy) return void this.close();
    this.#linger = this.#clock.schedule(() => void this.close(), LINGER, false);
  }

  async close(): Promise<void> {
    if (this.#waiting.size > 0) return;
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#healthy = false;
    const listening = this.#listening;
    this.#listening = undefined;
    await listening?.close();
  }

  deliver(grants: readonly PushedGrant[]): void {
    for (const grant of grants) {
      for (const reader of this.#readers) if (reader.onGrant(grant)) break;
    }
  }

  readonly #listener = {
    onGrants: (grants: readonly PushedGrant[]): void => this.deliver(grants),
    onEnded: (ended: readonly EndedTicket[]): void => ended.forEach(this.#onEnded),
    onHealth: (healthy: boolean): void => {
      this.#healthy = healthy && this.#listening !== undefined;
      if (!healthy && this.#waiting.size === 0) return void this.close();
      for (const reader of this.#readers) reader.onHealth(this.#healthy);
    },
  };
}
