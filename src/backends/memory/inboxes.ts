import type { GrantListener, Listening, SemaphoreKey } from '../backend.js';
import { mapKeyOf } from '../map-key.js';

/**
 * Messages to clients. A message comes later, as from a server: the call that sends it must return
 * first.
 */
export class Inboxes {
  readonly #listeners = new Map<string, GrantListener>();
  /** On their way. */
  #messages: (() => void)[] = [];

  open(client: string, prefix: string, listener: GrantListener): Listening {
    const inbox = mapKeyOf({ prefix, name: client });
    this.#listeners.set(inbox, listener);
    queueMicrotask(() => {
      if (this.#listeners.get(inbox) === listener) listener.onHealth(true);
    });
    return {
      close: async () => {
        this.#listeners.delete(inbox);
      },
    };
  }

  tell({ prefix }: SemaphoreKey, client: string, say: (listener: GrantListener) => void): void {
    const inbox = mapKeyOf({ prefix, name: client });
    const isFirst = this.#messages.length === 0;
    this.#messages.push(() => {
      const listener = this.#listeners.get(inbox);
      if (listener !== undefined) say(listener);
    });
    if (isFirst) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const messages = this.#messages;
    this.#messages = [];
    for (const deliver of messages) deliver();
  }
}
