import type { Subscription, SubscriptionEvents } from '../connection.js';
import { isRefusal } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** Between two tries to subscribe, and how long one may take. */
const RETRY_DELAY_MS = 250;

/** After these its connection is left to the client, which ends it when it is closed. */
const TRIES_TO_END = 10;

/** No grant: what a subscription sends to itself. */
const ECHO = 'echo';

const PUBLISH = "return redis.call('publish', ARGV[1], ARGV[2])";

/**
 * Settles once the subscriptions that were closed before have ended: an end that meets a new
 * subscription would end it, too.
 */
const leaving = new WeakMap<NodeRedisSentinel, Promise<void>>();

interface Change {
  readonly type?: string;
}

/** What is used of `createSentinel` (5, 6) beyond its commands. */
export interface NodeRedisSentinel {
  readonly isOpen?: boolean;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  on(event: string, listener: (change?: Change) => void): unknown;
  removeListener(event: string, listener: (change?: Change) => void): unknown;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

export function isSentinel(client: object): client is NodeRedisSentinel {
  // `setTracer` is its own; a client, a cluster and a pool have none.
  return hasMethods(client, 'setTracer', 'use', 'subscribe', 'unsubscribe');
}

/**
 * It makes a separate connection for subscriptions and takes it along to a new master: a copy of
 * the whole client would add two more, and version 5 cannot be copied. Whether that connection
 * stood all the while it does not report it, so after every sign of trouble a message to itself is
 * sent.
 */
export class SentinelSubscription implements Subscription {
  readonly #sentinel: NodeRedisSentinel;
  readonly #channel: string;
  readonly #events: SubscriptionEvents;
  #doubts = 1;
  #asking: Promise<void> | undefined;
  #closed = false;
  #onEcho: (() => void) | undefined;

  constructor(sentinel: NodeRedisSentinel, channel: string, events: SubscriptionEvents) {
    this.#sentinel = sentinel;
    this.#channel = channel;
    this.#events = events;
    sentinel.on('error', this.#onTrouble);
    sentinel.on('topology-change', this.#onChange);
    this.#askOnce();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#sentinel.removeListener('error', this.#onTrouble);
    this.#sentinel.removeListener('topology-change', this.#onChange);
    const left = this.#leave();
    leaving.set(this.#sentinel, left);
    return left;
  }

  readonly #listener = (message: string): void => {
    if (message === ECHO) this.#onEcho?.();
    else this.#events.onMessage(message);
  };

  readonly #onTrouble = (): void => {
    this.#doubts += 1;
    this.#askOnce();
    this.#events.onHealth(false);
  };

  readonly #onChange = (change?: Change): void => {
    if (change?.type === 'MASTER_CHANGE') this.#onTrouble();
  };

  #askOnce(): void {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
  }

  async #ask(): Promise<void> {
    await leaving.get(this.#sentinel);
    for (;;) {
      const doubt = this.#doubts;
      try {
        await this.#confirm();
        if (doubt !== this.#doubts) continue;
        if (!this.#closed) this.#events.onHealth(true);
        return;
      } catch (error) {
        if (!this.#closed) this.#events.onHealth(false);
        // A listener for that may have closed it.
        if (this.#closed) return;
        if (isRefusal(error)) return this.#events.onFailed();
        await pass(RETRY_DELAY_MS);
        if (this.#closed) return;
      }
    }
  }

  /**
   * Not before a script has run: a connection for subscriptions that it opens to a master that is
   * down is tried for ever, even after the client was closed. Subscribed already, it answers at
   * once by itself. A second channel would ask the server, but one that is refused because the
   * connection breaks would leave that behind.
   */
  async #confirm(): Promise<void> {
    const heard = new Promise<void>((resolve) => (this.#onEcho = resolve));
    await this.#sentinel.eval('return 1', { keys: [], arguments: [] });
    await this.#sentinel.subscribe(this.#channel, this.#listener);
    await this.#sentinel.eval(PUBLISH, { keys: [], arguments: [this.#channel, ECHO] });
    const silence = pass(RETRY_DELAY_MS).then(() => {
      throw new Error(`no echo within ${RETRY_DELAY_MS} ms`);
    });
    await Promise.race([heard, silence]);
  }

  /**
   * Its connection cannot be ended while the client makes it: the client would lose track of it.
   * Where it breaks meanwhile, it comes back with the subscription, and can be ended only then.
   */
  async #leave(): Promise<void> {
    await this.#asking;
    for (let tries = 0; tries < TRIES_TO_END; tries += 1) {
      // A closed client has ended its connection, and would make another one to unsubscribe. Valkey
      // 8.0 refuses that where nothing is subscribed, and the new connection would stay.
      if (this.#sentinel.isOpen === false) return;
      try {
        if (tries > 0) await this.#confirm();
        await this.#sentinel.unsubscribe(this.#channel, this.#listener);
        return;
      } catch (error) {
        // Without the right to unsubscribe, it stays until the client is closed.
        if (isRefusal(error)) return;
        await pass(RETRY_DELAY_MS);
      }
    }
  }
}

function pass(duration: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, duration).unref());
}
