import type { RedisConnection, SubscriptionEvents } from '../connection.js';
import type { CopyOptions, Duplicable, IoredisClient, Subscriber } from './ioredis-client.js';
import { canSubscribe, scriptsOf } from './ioredis-client.js';
import { isMock, mockConnection } from './ioredis-mock.js';
import type { SentinelLed } from './ioredis-sentinel.js';
import { detectsFailover, revived } from './ioredis-sentinel.js';
import type { Attempt } from './moving-subscription.js';
import { anyReady, movingSubscription } from './moving-subscription.js';
import { canWait, hasMethods, replicationOf } from './shape.js';

/** What is used of an ioredis `Cluster` (5, 6) beyond its commands. */
interface IoredisCluster {
  nodes(role: 'master'): (Duplicable & IoredisClient)[];
}

export function isIoredis(target: object): target is IoredisClient {
  // Without events it speaks HTTP, as that of @upstash/redis does.
  return hasMethods(target, 'evalsha', 'eval', 'on');
}

/**
 * ioredis sends again what was in flight when its connection dropped; that is right here, for
 * scripts are idempotent by ticket id. Its `keyPrefix` goes before keys but not before channels,
 * which is why channels are built from our own prefix alone.
 */
export function ioredisConnection(client: IoredisClient): RedisConnection {
  if (isMock(client)) return mockConnection(client);
  // Where it loses its master, so does a copy, but hears of it later.
  const led = detectsFailover(client) ? client : undefined;
  const isPending = led && revived(led);
  const connection: RedisConnection = {
    ...scriptsOf(client),
    isClosed: () => client.status === 'end' && isPending?.() !== true,
  };
  const copy = copierOf(client);
  if (copy !== undefined) {
    connection.subscribe = (channel, events) =>
      movingSubscription((onLost) => open(copy(), channel, events, onLost, led), events);
  }
  if (isCluster(client)) {
    connection.eachMaster = () => Promise.resolve(client.nodes('master').map(ioredisConnection));
  } else if (canWait(client)) connection.replication = replicationOf(client, ['close']);
  return connection;
}

function isCluster(client: object): client is IoredisCluster {
  return hasMethods(client, 'nodes', 'subscribe') && 'isCluster' in client;
}

/** Of a copy that connects once, subscribes, and ends when its connection does. */
const COPY_OPTIONS: CopyOptions = {
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

/**
 * What one node publishes goes to all of a cluster, so one connection to one of them is enough. The
 * cluster client would make one as well, but reports neither the loss of that connection nor of its
 * messages.
 */
function copierOf(client: object): (() => Subscriber) | undefined {
  if (isCluster(client)) {
    const ready = () => anyReady(client.nodes('master'), ({ status }) => status === 'ready');
    return () => ready().duplicate(COPY_OPTIONS);
  }
  return canSubscribe(client) ? () => client.duplicate(COPY_OPTIONS) : undefined;
}

/** A copy of a client connects by itself and can be ended at any moment. */
function open(
  copy: Subscriber,
  channel: string,
  events: SubscriptionEvents,
  onLost: () => void,
  led: SentinelLed | undefined,
): Attempt {
  const unref = (): void => copy.stream?.unref?.();
  // A connection that breaks is closed; other errors leave it as it is.
  copy.on('error', () => undefined);
  for (const event of ['close', 'end']) copy.on(event, onLost);
  for (const event of ['connect', 'ready']) copy.on(event, unref);
  copy.on('message', (_channel, message) => {
    if (message !== undefined) events.onMessage(message);
  });
  led?.on('close', onLost);
  return {
    subscribed: copy.subscribe(channel).then(unref),
    close: async () => {
      led?.removeListener('close', onLost);
      if (copy.status === 'end') return;
      const ended = new Promise((resolve) => void copy.on('end', resolve));
      copy.disconnect();
      await ended;
    },
  };
}
