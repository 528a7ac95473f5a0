import type { Subscription, SubscriptionEvents } from '../connection.js';
import { anyReady } from './moving-subscription.js';
import type { Duplicable, NodeRedisClient, Subscriber } from './node-redis-client.js';
import { subscribeOnCopies } from './node-redis-client.js';
import { hasMethods } from './shape.js';

interface Node {
  readonly client?: { readonly isReady?: boolean } | undefined;
}

type NodeClient = Duplicable & NodeRedisClient;

/** What is used of `createCluster` (4, 5, 6) beyond its commands. */
export interface NodeRedisCluster {
  readonly masters: readonly Node[];
  nodeClient(node: Node): NodeClient | Promise<NodeClient>;
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
}

export function isCluster(client: object): client is NodeRedisCluster {
  return hasMethods(client, 'nodeClient', 'sendCommand') && 'masters' in client;
}

/**
 * Version 4 takes the key of EVAL and EVALSHA from the wrong argument, and so asks a node by
 * chance.
 */
export function routesScriptsWrongly(client: object): client is NodeRedisCluster {
  return isCluster(client) && !hasMethods(client, 'destroy');
}

/**
 * What one node publishes goes to all of a cluster, so one connection to one of them is enough. A
 * copy of the whole cluster client would connect to every master, not report the loss of its
 * subscriber, and keep the process alive.
 */
export function subscribeOnNode(
  cluster: NodeRedisCluster,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const copy = async (): Promise<Subscriber> => {
    const node = anyReady(cluster.masters, ({ client }) => client?.isReady === true);
    return (await cluster.nodeClient(node)).duplicate();
  };
  return subscribeOnCopies(copy, channel, events);
}
