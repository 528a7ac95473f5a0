import type { Subscription, SubscriptionEvents } from '../connection.js';
import type { Duplicable, IoredisClient } from './ioredis-client.js';
import { COPY_OPTIONS, subscribeOnCopies } from './ioredis-client.js';
import { anyReady } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** What is used of an ioredis `Cluster` (5, 6) beyond its commands. */
export interface IoredisCluster {
  nodes(role: 'master'): (Duplicable & IoredisClient)[];
}

export function isCluster(client: object): client is IoredisCluster {
  return hasMethods(client, 'nodes', 'subscribe') && 'isCluster' in client;
}

/**
 * What one node publishes goes to all of a cluster, so one connection to one of them is enough. The
 * cluster client would make one as well, but reports neither the loss of that connection nor of its
 * messages.
 */
export function subscribeOnNode(
  cluster: IoredisCluster,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const copy = () =>
    anyReady(cluster.nodes('master'), ({ status }) => status === 'ready').duplicate(COPY_OPTIONS);
  return subscribeOnCopies(copy, channel, events);
}
