import type { RedisConnection, Subscription, SubscriptionEvents } from '../connection.js';
import type { SentinelLed } from './ioredis-sentinel.js';
import type { Attempt } from './moving-subscription.js';
import { movingSubscription } from './moving-subscription.js';

type CopyOptions = Record<string, boolean | number | (() => null)>;

/**
 * What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type
 * fits.
 */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  readonly status?: string;
}

/** What is used of a single `ioredis` client (5, 6) beyond its commands. */
export interface Duplicable {
  duplicate(options?: CopyOptions): Subscriber;
}

export interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

/** Of a copy that connects once, subscribes, and ends when its connection does. */
export const COPY_OPTIONS: CopyOptions = {
  lazyConnect: false,
  enableOfflineQueue: true,
  // Another copy takes its place.
  retryStrategy: () => null,
  // It leaves nothing unsaid. By itself it would wait 2 s for a server that hangs, and keep the
  // process alive meanwhile.
  disconnectTimeout: 1,
  // A copy that is closed while it connects would leave its detector's connections behind. The
  // client's own detector reports a failover.
  failoverDetector: false,
};

/** Nothing async, and no promise beside the client's own: each call passes here. */
export function scriptsOf(client: IoredisClient): Pick<RedisConnection, 'runBySha' | 'runByText'> {
  return {
    runBySha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    runByText: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
  };
}

/**
 * On copies of a client. `led`: one that sentinels lead; where it loses its master, so does the
 * copy, but hears of it later.
 */
export function subscribeOnCopies(
  copy: () => Subscriber,
  channel: string,
  events: SubscriptionEvents,
  led?: SentinelLed,
): Subscription {
  return movingSubscription((onLost) => open(copy, channel, events, onLost, led), events);
}

/** A copy of a client, which connects by itself and can be ended at any moment. */
function open(
  copy: () => Subscriber,
  channel: string,
  events: SubscriptionEvents,
  onLost: () => void,
  led: SentinelLed | undefined,
): Attempt {
  let made: Subscriber | undefined;
  const subscribe = async (): Promise<void> => {
    const copied = copy();
    made = copied;
    const unref = (): void => copied.stream?.unref?.();
    // A connection that breaks is closed; other errors leave it as it is.
    copied.on('error', () => undefined);
    for (const event of ['close', 'end']) copied.on(event, onLost);
    for (const event of ['connect', 'ready']) copied.on(event, unref);
    copied.on('message', (_channel, message) => {
      if (message !== undefined) events.onMessage(message);
    });
    await copied.subscribe(channel);
    unref();
  };
  led?.on('close', onLost);
  const subscribed = subscribe();
  return {
    subscribed,
    close: async () => {
      led?.removeListener('close', onLost);
      if (made === undefined || made.status === 'end') return;
      const client = made;
      await new Promise<void>((resolve) => {
        client.on('end', () => resolve());
        client.disconnect();
      });
    },
  };
}
