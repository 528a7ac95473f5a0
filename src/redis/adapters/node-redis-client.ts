import type { Subscription, SubscriptionEvents } from '../connection.js';

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

/** On a copy of a single client: it reconnects and subscribes again by itself. */
export function subscribeOnCopy(
  client: Duplicable,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const subscriber = client.duplicate();
  let closed = false;
  // Nothing more once it is closed: by then another subscription may have taken its place.
  const report = (healthy: boolean): void => {
    if (!closed) events.onHealth(healthy);
  };
  // The copy has no listeners of its own; without this one, a lost connection would end the process.
  subscriber.on('error', () => report(false));
  // After a reconnect the client subscribes again before it says that it is ready.
  subscriber.on('ready', () => {
    subscriber.unref?.();
    if (subscribed) report(true);
  });
  let subscribed = false;
  const close = async (): Promise<void> => {
    closed = true;
    await endOf(subscriber);
  };
  const open = async (): Promise<void> => {
    try {
      await subscriber.connect();
      if (closed) return await close();
      await subscriber.subscribe(channel, (message) => events.onMessage(message));
      subscribed = true;
      report(true);
    } catch {
      // Refused, or its options let it give up, or it was closed.
      report(false);
      if (!closed) events.onFailed();
      await close();
    }
  };
  void open();
  return { close };
}

/** Version 4 knows no `destroy`. Never rejects. */
export async function endOf(subscriber: Subscriber): Promise<void> {
  // Not while it reads: version 4 forgets its subscription at once, and the next message of the same packet ends the process.
  await Promise.resolve();
  try {
    await (subscriber.destroy === undefined ? subscriber.disconnect?.() : subscriber.destroy());
  } catch {
    // It was not open.
  }
}
