import type { RedisConnection, Subscription, SubscriptionEvents } from '../connection.js';
import { hasMethods, withText } from './shape.js';

/** What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type fits. */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  readonly status?: string;
}

interface Duplicable {
  duplicate(options?: Record<string, boolean>): Subscriber;
  readonly isCluster?: boolean;
}

interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

export function isIoredis(target: object): target is IoredisClient {
  return hasMethods(target, 'evalsha', 'eval');
}

/**
 * ioredis sends again what was in flight when its connection dropped; that is right here, for scripts
 * are idempotent by ticket id. Its `keyPrefix` goes before keys but not before channels, which is why
 * channels are built from our own prefix alone.
 */
export function ioredisConnection(client: IoredisClient): RedisConnection {
  const connection: RedisConnection = {
    // async, for ioredis-mock throws at once where ioredis rejects.
    runBySha: async (sha1, keys, args) =>
      withText(await client.evalsha(sha1, keys.length, ...keys, ...args)),
    runByText: async (script, keys, args) =>
      withText(await client.eval(script, keys.length, ...keys, ...args)),
    isClosed: () => client.status === 'end',
    serverClock: isMock(client) ? () => Date.now() : undefined,
  };
  if (canSubscribe(client)) {
    connection.subscribe = (channel, events) => subscribe(client, channel, events);
  }
  return connection;
}

/** The mock's own fields, none of which ioredis has: a real server must never be given a client's clock. */
function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}

function subscribe(client: Duplicable, channel: string, events: SubscriptionEvents): Subscription {
  // It would subscribe again by itself after a reconnect, but let nobody handle a refusal.
  const options = { autoResubscribe: false, enableOfflineQueue: true, lazyConnect: false };
  const plain = isMock(client) || client.isCluster === true;
  const subscriber = plain ? client.duplicate() : client.duplicate(options);
  let subscribed = false;
  let closed = false;
  const report = (healthy: boolean): void => {
    if (!closed) events.onHealth(healthy);
  };
  const open = async (): Promise<void> => {
    try {
      await subscriber.subscribe(channel);
      subscribed = true;
      subscriber.stream?.unref?.();
      report(true);
    } catch (error) {
      report(false);
      // Refused: waiting goes on by polling. A connection that was lost comes back by itself.
      if (error instanceof Error && /^(NOPERM|NOAUTH|ERR)/.test(error.message)) {
        subscriber.disconnect();
      }
    }
  };
  subscriber.on('error', () => report(false));
  subscriber.on('close', () => report(false));
  subscriber.on('ready', () => {
    subscriber.stream?.unref?.();
    if (subscribed && !closed) void open();
  });
  subscriber.on('message', (_channel, message) => {
    if (message !== undefined) events.onMessage(message);
  });
  void open();
  return {
    close: () => {
      closed = true;
      return end(subscriber, channel);
    },
  };
}

async function end(subscriber: Subscriber, channel: string): Promise<void> {
  // ioredis-mock keeps the listeners of a connection that is gone.
  if (isMock(subscriber)) {
    await subscriber.unsubscribe(channel);
    return subscriber.disconnect();
  }
  // Only a connection that stands says when it has ended.
  const stands = subscriber.status === 'ready';
  const ended = new Promise<void>((resolve) => void subscriber.on('end', () => resolve()));
  subscriber.disconnect();
  if (stands) await ended;
}
