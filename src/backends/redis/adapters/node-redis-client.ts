import type { Subscription, SubscriptionEvents } from '../connection.js';
import type { Attempt } from './moving-subscription.js';
import { movingSubscription } from './moving-subscription.js';

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/**
 * What is used of a `redis` client, cluster, sentinel or pool (4, 5, 6; RESP2 and RESP3), by shape,
 * so that every version's own type fits.
 */
export interface NodeRedisClient {
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  readonly isOpen?: boolean;
}

/** What is used of a single `redis` client (4, 5, 6) beyond its commands. */
export interface Duplicable {
  duplicate(): Subscriber;
}

export interface Subscriber {
  on(event: string, listener: (...args: never[]) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  destroy?(): unknown;
  disconnect?(): Promise<unknown>;
  unref?(): void;
}

/** On copies of a client. */
export function subscribeOnCopies(
  copy: () => Subscriber | Promise<Subscriber>,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  return movingSubscription((onLost) => new Copy(copy, channel, events, onLost), events);
}

/**
 * The life of one copy of a client: it connects, it is connected, it has ended. Its first error
 * ends it, before it reconnects. While it makes its socket it cannot be ended: 4 and 5 would only
 * mark it as closed, and the socket that comes then is nobody's. So a client that is closed while
 * it connects ends once it reports its socket, or that there is none.
 */
class Copy implements Attempt {
  readonly subscribed: Promise<void>;
  readonly #onLost: () => void;
  #setEnded: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => (this.#setEnded = resolve));
  #client: Subscriber | undefined;
  #connecting = false;
  #closed = false;
  #ending = false;

  constructor(
    copy: () => Subscriber | Promise<Subscriber>,
    channel: string,
    events: SubscriptionEvents,
    onLost: () => void,
  ) {
    this.#onLost = onLost;
    this.subscribed = this.#open(copy, channel, events);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // Not while it reads: version 4 forgets its subscription at once, and the next message of the
    // same packet ends the process.
    await Promise.resolve();
    if (!this.#connecting) void this.#end();
    await this.#ended;
  }

  async #open(
    copy: () => Subscriber | Promise<Subscriber>,
    channel: string,
    events: SubscriptionEvents,
  ): Promise<void> {
    const client = await copy();
    if (this.#closed) return;
    this.#client = client;
    // A copy has no listeners yet; without this one, a lost connection would end the process.
    client.on('error', () => {
      // After its end: that has failed, and it lives on.
      this.#ending = false;
      this.#lose();
    });
    client.on('end', () => this.#lose());
    // Version 4 rejects what nobody listens to yet when it is ended before it has written its first
    // commands.
    client.on('connect', () => queueMicrotask(() => this.#settle()));
    client.unref?.();
    this.#connecting = true;
    await client.connect().finally(() => this.#settle());
    if (!this.#closed) await client.subscribe(channel, (message) => events.onMessage(message));
  }

  #lose(): void {
    this.#closed = true;
    this.#settle();
    this.#onLost();
  }

  /** Its socket is there, or there is none. */
  #settle(): void {
    this.#connecting = false;
    if (this.#closed) void this.#end();
  }

  /** Version 4 knows no `destroy`. Rejected: it was not open, or would not be ended. */
  async #end(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    const client = this.#client;
    try {
      await (client?.destroy === undefined ? client?.disconnect?.() : client.destroy());
    } catch {
      this.#ending = false;
    }
    this.#setEnded();
  }
}
