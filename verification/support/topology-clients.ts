import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';

import type { RedisTarget } from '../../src/index.js';
import type { BothKinds, Login } from '../../test/support/client-fixture.js';
import { MASTER_NAME } from './redis-sentinel.js';

/** How a client reaches the nodes of a cluster, or sentinels. */
export interface Way {
  readonly kind: BothKinds;
  readonly ports: readonly number[];
  readonly login?: Login | undefined;
  /** For ports that servers name to their clients: where this one has to go instead. */
  readonly detours?: Readonly<Record<number, number>> | undefined;
}

/** A client of several servers that is still to be connected. */
export interface TopologyClient {
  readonly target: RedisTarget;
  connect(): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * With the options that docs/operations/topologies.md names for a cluster whose masters may fail.
 */
export function clusterClient({ kind, ports, login, detours }: Way): TopologyClient {
  if (kind === 'redis') {
    const client = createCluster({
      rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      // A new object for each call: redis 6.3 writes into it, see docs/operations/topologies.md.
      ...(detours && { nodeAddressMap: (address: string) => addressMap(detours)[address] }),
      topologyRefreshOnReconnectionAttemptStrategy: 500,
      defaults: { ...login },
    });
    return nodeRedisClient(client);
  }
  // The ready check of a node wants INFO, and says so aloud when the user may not.
  const redisOptions = login === undefined ? {} : { ...login, enableReadyCheck: false };
  const natMap = detours && { natMap: addressMap(detours) };
  const options = { lazyConnect: true, slotsRefreshInterval: 1000, redisOptions, ...natMap };
  const client = new Cluster(addressesOf(ports), options).on('error', ignore);
  return {
    target: client,
    connect: () => client.connect(),
    close: () => Promise.resolve(client.disconnect()),
  };
}

/** With the option that docs/operations/topologies.md names for a master that may hang. */
export function sentinelClient({ kind, ports, detours }: Way): TopologyClient {
  if (kind === 'redis') {
    const sentinelRootNodes = addressesOf(ports);
    const nodeAddressMap = detours && { nodeAddressMap: addressMap(detours) };
    return nodeRedisClient(
      createSentinel({ name: MASTER_NAME, sentinelRootNodes, ...nodeAddressMap }),
    );
  }
  const natMap = detours && { natMap: addressMap(detours) };
  const servers = { sentinels: addressesOf(ports), name: MASTER_NAME, ...natMap };
  const client = new Redis({ ...servers, lazyConnect: true, failoverDetector: true });
  client.on('error', ignore);
  // Notified of a failover while it reconnects, it takes that for its end: an application connects
  // again.
  const reconnect = (): void => void client.connect().catch(ignore);
  return {
    target: client,
    connect: async () => {
      await client.connect();
      client.on('end', reconnect);
    },
    close: () => Promise.resolve(client.off('end', reconnect).disconnect()),
  };
}

type NodeRedis = RedisTarget & {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
};

function nodeRedisClient(client: NodeRedis): TopologyClient {
  client.on('error', ignore);
  return {
    target: client,
    connect: () => client.connect(),
    close: async () => void (await client.destroy()),
  };
}

export function addressesOf(ports: readonly number[]): { host: string; port: number }[] {
  return ports.map((port) => ({ host: '127.0.0.1', port }));
}

/** As both libraries want it. */
function addressMap(
  detours: Readonly<Record<number, number>>,
): Record<string, { host: string; port: number }> {
  const host = '127.0.0.1';
  const ways = Object.entries(detours).map(([named, port]) => [`${host}:${named}`, { host, port }]);
  return Object.fromEntries(ways) as Record<string, { host: string; port: number }>;
}

/** Servers come and go: tests look at the semaphore alone. */
function ignore(): void {}
