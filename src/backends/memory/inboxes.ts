import type {
  EndedTicket,
  GrantListener,
  Listening,
  PushedGrant,
  PushedTurn,
  SemaphoreKey,
} from '../backend.js';

interface Message {
  readonly inbox: string;
  readonly name: string;
  readonly grants?: readonly PushedGrant[];
  readonly ended?: EndedTicket;
  readonly turn?: PushedTurn;
}

/**
 * What is pushed to clients. It comes later, as from a server: the call that sends it must return
 * first.
 */
export class Inboxes {
  readonly #listeners = new Map<string, GrantListener>();
  /** On their way. */
  #messages: Message[] = [];

  open(client: string, prefix: string, listener: GrantListener): Listening {
    const inbox = inboxOf(prefix, client);
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

  /** Notifies other clients of their grants; gives those of the caller, which go with its reply. */
  pushGrants(
    { prefix, name }: SemaphoreKey,
    byClient: ReadonlyMap<string, readonly PushedGrant[]>,
    caller: string,
  ): readonly PushedGrant[] {
    for (const [client, grants] of byClient) {
      if (client !== caller) this.#send({ inbox: inboxOf(prefix, client), name, grants });
    }
    return byClient.get(caller) ?? [];
  }

  pushEnded({ prefix, name }: SemaphoreKey, client: string, ended: EndedTicket): void {
    this.#send({ inbox: inboxOf(prefix, client), name, ended });
  }

  pushTurn({ prefix, name }: SemaphoreKey, client: string, turn: PushedTurn): void {
    this.#send({ inbox: inboxOf(prefix, client), name, turn });
  }

  #send(message: Message): void {
    if (this.#messages.push(message) === 1) queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const messages = this.#messages;
    this.#messages = [];
    for (const { inbox, name, grants, ended, turn } of messages) {
      const listener = this.#listeners.get(inbox);
      if (grants !== undefined) listener?.onGrants(grants, name);
      if (ended !== undefined) listener?.onEnded?.([ended], name);
      if (turn !== undefined) listener?.onTurn?.(turn, name);
    }
  }
}

function inboxOf(prefix: string, client: string): string {
  return JSON.stringify([prefix, client]);
}
