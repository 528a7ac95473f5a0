import type { RedisConnection, Subscription, SubscriptionEvents } from '../connection.js';
import type { IoredisClient, Subscriber } from './ioredis-client.js';
import { scriptsOf } from './ioredis-client.js';
import type { Attempt } from './moving-subscription.js';
import { movingSubscription } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** What is used of `ioredis-mock` beyond its commands. */
interface Mock extends IoredisClient {
  duplicate(): Subscriber;
}

/**
 * Its own fields, none of which ioredis has: a real server must never be given a client's clock.
 */
export function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

/** Its TIME runs backwards, and its Lua has a dialect: see `dialect.lua`. */
export function mockConnection(client: IoredisClient): RedisConnection {
  return {
    ...scriptsOf(client),
    isClosed: () => false,
    serverClock: () => Date.now(),
    ...(canSubscribe(client) && {
      subscribe: (channel: string, events: SubscriptionEvents): Subscription =>
        movingSubscription(() => new MockAttempt(client, channel, events), events),
    }),
  };
}

function canSubscribe(client: object): client is Mock {
  return hasMethods(client, 'duplicate', 'subscribe');
}

/** It has no connection that could be lost, and keeps the listeners of one that is gone. */
class MockAttempt implements Attempt {
  readonly subscribed: Promise<unknown>;
  readonly #copy: Subscriber;
  readonly #channel: string;

  constructor(client: Mock, channel: string, events: SubscriptionEvents) {
    this.#copy = client.duplicate();
    this.#channel = channel;
    this.#copy.on('message', (_channel, message) => {
      if (message !== undefined) events.onMessage(message);
    });
    this.subscribed = this.#copy.subscribe(channel);
  }

  async close(): Promise<void> {
    await this.#copy.unsubscribe(this.#channel).catch(() => undefined);
    this.#copy.disconnect();
  }
}
