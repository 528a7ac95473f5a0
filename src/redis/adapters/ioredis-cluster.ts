import type { Subscription, SubscriptionEvents } from '../connection.js';
import type { Duplicable, Subscriber } from './ioredis-client.js';
import { endOf } from './ioredis-client.js';
import type { Attempt } from './moving-subscription.js';
import { anyReady, movingSubscription } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** What is used of an ioredis `Cluster` (5, 6) beyond its commands. */
export interface IoredisCluster {
  nodes(role: 'master'): (Duplicable & { readonly status?: string })[];
}

export function isCluster(client: object): client is IoredisCluster {
  return hasMethods(client, 'nodes', 'subscribe') && 'isCluster' in client;
}

/**
 * What one node publishes goes to all of a cluster, so one connection to one of them is enough. The cluster client
 * would make one as well, but tells nobody when that was lost and messages with it.
 */
export function subscribeOnNode(
  cluster: IoredisCluster,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  return movingSubscription((onLost) => attempt(cluster, channel, events, onLost), events);
}

function attempt(
  cluster: IoredisCluster,
  channel: string,
  events: SubscriptionEvents,
  onLost: () => void,
): Attempt {
  const node = anyReady(cluster.nodes('master'), ({ status }) => status === 'ready');
  if (node === undefined) {
    const problem = new Error('the cluster client knows no node that is ready');
    return { subscribed: Promise.reject(problem), close: () => Promise.resolve() };
  }
  const subscriber = node.duplicate({
    lazyConnect: false,
    enableOfflineQueue: true,
    autoResubscribe: false,
    // Another node is tried instead.
    retryStrategy: () => null,
  });
  subscriber.on('error', onLost);
  subscriber.on('end', onLost);
  subscriber.on('ready', () => subscriber.stream?.unref?.());
  subscriber.on('message', (_channel, message) => {
    if (message !== undefined) events.onMessage(message);
  });
  return { subscribed: subscriber.subscribe(channel), close: closing(subscriber, channel) };
}

function closing(subscriber: Subscriber, channel: string): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => (closed ??= endOf(subscriber, channel));
}
