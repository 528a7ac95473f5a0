import type { RedisConnection, Subscription, SubscriptionEvents } from '../connection.js';
import { hasMethods, withText } from './shape.js';

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/**
 * What is used of a `redis` client, cluster, sentinel or pool (4, 5, 6; RESP2 and RESP3), by shape, so
 * that every version's own type fits.
 */
export interface NodeRedisClient {
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  readonly isOpen?: boolean;
}

interface Duplicable {
  duplicate(): Subscriber;
}

interface Subscriber {
  on(event: string, listener: (...args: never[]) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  destroy?(): unknown;
  disconnect?(): Promise<unknown>;
  unref?(): void;
}

export function isNodeRedis(target: object): target is NodeRedisClient {
  return hasMethods(target, 'evalSha', 'eval');
}

/**
 * A client rejects what was in flight when its connection drops, its sentinel sends it again: both are
 * right here, for scripts are idempotent by ticket id. See `../connection.ts`.
 */
export function nodeRedisConnection(client: NodeRedisClient): RedisConnection {
  const connection: RedisConnection = {
    runBySha: async (sha1, keys, args) =>
      withText(await client.evalSha(sha1, { keys: [...keys], arguments: [...args] })),
    runByText: async (script, keys, args) =>
      withText(await client.eval(script, { keys: [...keys], arguments: [...args] })),
    isClosed: () => client.isOpen === false,
  };
  if (canSubscribe(client)) {
    connection.subscribe = (channel, events) => subscribe(client, channel, events);
  }
  return connection;
}

/** A pool has no `duplicate`: there waiting is by polling alone. */
function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}

function subscribe(client: Duplicable, channel: string, events: SubscriptionEvents): Subscription {
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
    try {
      await (subscriber.destroy === undefined ? subscriber.disconnect?.() : subscriber.destroy());
    } catch {
      // It was not open.
    }
  };
  const open = async (): Promise<void> => {
    try {
      await subscriber.connect();
      if (closed) return await close();
      await subscriber.subscribe(channel, (message) => events.onMessage(message));
      subscribed = true;
      report(true);
    } catch {
      // Refused, or the client was closed: waiting goes on by polling.
      report(false);
      await close();
    }
  };
  void open();
  return { close };
}
