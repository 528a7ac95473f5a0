import { Cluster } from 'ioredis';
import { Cluster as Cluster6 } from 'ioredis-6';
import { createCluster } from 'redis';
import { createCluster as createCluster4 } from 'redis-4';
import { createCluster as createCluster5 } from 'redis-5';

import type { TestCluster } from '../../../test/support/redis-cluster.js';
import type { Row } from '../../../test/conformance/row.js';
import { topologyRow } from './topology-row.js';

/** Errors of nodes that come and go are expected: only calls that fail are looked at. */
function ignore(): void {}

/** `all`: the clients that are current; `others`: the other majors. */
export function clusterRows(cluster: () => TestCluster): { all: Row[]; others: Row[] } {
  const rootNodes = () => cluster().addresses.map(({ port }) => ({ url: urlOf(port) }));
  const all = [
    topologyRow('createCluster of redis 6', cluster, async () => {
      const target = createCluster({ rootNodes: rootNodes() }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    topologyRow('Cluster of ioredis 5', cluster, async () => {
      const target = new Cluster(cluster().addresses, { lazyConnect: true }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
  ];
  const others = [
    topologyRow('createCluster of redis 4', cluster, async () => {
      const target = createCluster4({ rootNodes: rootNodes() }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
    topologyRow('createCluster of redis 5', cluster, async () => {
      const target = createCluster5({ rootNodes: rootNodes() }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    topologyRow('Cluster of ioredis 6', cluster, async () => {
      const target = new Cluster6(cluster().addresses, { lazyConnect: true }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
  ];
  return { all, others };
}

function urlOf(port: number): string {
  return `redis://127.0.0.1:${port}`;
}
