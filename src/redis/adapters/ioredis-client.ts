import type { Subscription, SubscriptionEvents } from '../connection.js';
import { isRefusal } from './moving-subscription.js';

/** Between the end of a subscriber that nobody had ended and its next connection, in milliseconds. */
const PAUSE = 250;

/** What is used of a single `ioredis` client (5, 6) beyond its commands. */
export interface Duplicable {
  duplicate(options?: Record<string, boolean | (() => null)>): Subscriber;
}

export interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  connect(): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

/** The mock's own fields, none of which ioredis has: a real server must never be given a client's clock. */
export function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

/** On a copy of a single client, or of one that sentinels lead: it reconnects by itself. */
export function subscribeOnCopy(
  client: Duplicable,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  // It would subscribe again by itself after a reconnect, but let nobody handle a refusal.
  const options = { autoResubscribe: false, enableOfflineQueue: true, lazyConnect: false };
  const subscriber = isMock(client) ? client.duplicate() : client.duplicate(options);
  let asking = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const report = (healthy: boolean): void => {
    if (!closed) events.onHealth(healthy);
  };
  const open = async (): Promise<void> => {
    if (asking || closed) return;
    asking = true;
    try {
      await subscriber.subscribe(channel);
      subscriber.stream?.unref?.();
      report(true);
    } catch (error) {
      report(false);
      // A connection that was lost comes back by itself.
      if (!closed && isRefusal(error)) events.onFailed();
    }
    asking = false;
  };
  subscriber.on('error', () => report(false));
  subscriber.on('close', () => report(false));
  subscriber.on('ready', () => {
    subscriber.stream?.unref?.();
    void open();
  });
  // By its own options, or told by its sentinels of a failover while it reconnected.
  subscriber.on('end', () => {
    if (closed) return;
    timer = setTimeout(() => void subscriber.connect().catch(() => undefined), PAUSE).unref();
  });
  subscriber.on('message', (_channel, message) => {
    if (message !== undefined) events.onMessage(message);
  });
  void open();
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
      return endOf(subscriber, channel);
    },
  };
}

/** Resolves when its connection has ended. */
export async function endOf(subscriber: Subscriber, channel: string): Promise<void> {
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
