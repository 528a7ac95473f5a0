import { Cluster } from 'ioredis';
import { Cluster as Cluster6 } from 'ioredis-6';
import { createCluster } from 'redis';
import { createCluster as createCluster4 } from 'redis-4';
import { createCluster as createCluster5 } from 'redis-5';

import type { TestCluster } from '../../support/redis-cluster.js';
import { addressesOf } from '../../support/topology-clients.js';
import type { Row } from '../../../test/conformance/row.js';
import { redisRow, SEVERAL_SERVERS } from '../../../test/conformance/rows/redis-row.js';
import { connected, type OpenClient } from '../../../test/support/open-client.js';

const options = { lazyConnect: true };

/** `all`: the clients that are current; `others`: the other majors. */
export function clusterRows(cluster: () => TestCluster): { all: Row[]; others: Row[] } {
  const row = (title: string, connect: () => Promise<OpenClient>): Row =>
    redisRow(title, cluster, connect, { lacks: SEVERAL_SERVERS });
  const addresses = () => addressesOf(cluster().ports);
  const roots = () => ({
    rootNodes: cluster().ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
  });
  return {
    all: [
      row('createCluster of redis 6', () => connected(createCluster(roots()))),
      row('Cluster of ioredis 5', () => connected(new Cluster(addresses(), options))),
    ],
    others: [
      row('createCluster of redis 4', () => connected(createCluster4(roots()))),
      row('createCluster of redis 5', () => connected(createCluster5(roots()))),
      row('Cluster of ioredis 6', () => connected(new Cluster6(addresses(), options))),
    ],
  };
}
