import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis-6';
import { createCluster, createSentinel } from 'redis';
import { createCluster as createCluster4 } from 'redis-4';
import { createCluster as createCluster5, createSentinel as createSentinel5 } from 'redis-5';

import type { Lacks, Row } from '../../test/conformance/row.js';
import { redisRow, SEVERAL_SERVERS } from '../../test/conformance/rows/redis-row.js';
import type { Masters } from '../../test/quorum/servers.js';
import { connected, type OpenClient } from '../../test/support/open-client.js';
import type { TestCluster } from '../support/redis-cluster.js';
import { MASTER_NAME as name, type TestSentinels } from '../support/redis-sentinel.js';
import { addressesOf } from '../support/topology-clients.js';

const lazy = { lazyConnect: true };

/** `all`: the clients that are current; `others`: the other majors. */
export function clusterRows(cluster: () => TestCluster): { all: Row[]; others: Row[] } {
  const row = (title: string, connect: () => Promise<OpenClient>): Row =>
    redisRow(title, cluster, connect, SEVERAL_SERVERS);
  const addresses = () => addressesOf(cluster().ports);
  const roots = () => ({
    rootNodes: cluster().ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
  });
  return {
    all: [
      row('createCluster of redis 6', () => connected(createCluster(roots()))),
      row('Cluster of ioredis 5', () => connected(new Cluster(addresses(), lazy))),
    ],
    others: [
      row('createCluster of redis 4', () => connected(createCluster4(roots()))),
      row('createCluster of redis 5', () => connected(createCluster5(roots()))),
      row('Cluster of ioredis 6', () => connected(new Cluster6(addresses(), lazy))),
    ],
  };
}

export function sentinelRows(sentinels: () => TestSentinels): Row[] {
  const row = (title: string, connect: () => Promise<OpenClient>): Row =>
    redisRow(title, sentinels, connect, SEVERAL_SERVERS);
  const nodeRedis = () => ({ name, sentinelRootNodes: addressesOf(sentinels().ports) });
  const ioredis = () => ({ name, sentinels: addressesOf(sentinels().ports), ...lazy });
  return [
    row('createSentinel of redis 6', () => connected(createSentinel(nodeRedis()))),
    row('createSentinel of redis 5', () => connected(createSentinel5(nodeRedis()))),
    row('ioredis 5 with sentinels', () => connected(new Redis(ioredis()))),
    row('ioredis 6 with sentinels', () => connected(new Redis6(ioredis()))),
  ];
}

const QUORUM_LACKS: Lacks = {
  ...SEVERAL_SERVERS,
  keys: 'they are on several servers',
  push: 'a release hands no permit on, so nothing is pushed',
  queue:
    'requests that wait ask again and again, in no order, and only their own process knows of them',
  'operator calls': 'a quorum offers none of them',
  listing: 'each node has its own names',
};

/** Rows on several independent masters, of which a majority decides. */
export function quorumRows(masters: () => Masters): Row[] {
  return (['redis', 'ioredis'] as const).map((kind) => ({
    title: `a quorum of three over ${kind}`,
    lacks: QUORUM_LACKS,
    open: async () => {
      const [target, other] = [await masters().connect(kind), await masters().connect(kind)];
      return { target, other, close: () => Promise.resolve() };
    },
  }));
}
