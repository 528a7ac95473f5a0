import { startServer, type TestServer } from '../../../test/support/redis-server.js';
import { noFakeClock } from '../../../test/support/require-server.js';
import { StoredSemaphore } from '../../../test/support/stored-semaphore.js';
import { type FaultProxy, startProxy } from '../../support/fault-proxy.js';
import type { FaultKind } from '../history/fault-kinds.js';
import { injectProxyFault, networkKinds } from './proxy-faults.js';
import { keepingData, serverFaults } from './server-faults.js';
import { type Topology, WORKERS } from './topology.js';

export const quorumKinds: readonly FaultKind[] = [
  'kill-process',
  'stop-process',
  'stop-server',
  'restart-with-data',
  'restart-empty',
  'pause-clients',
  'kill-clients',
  ...networkKinds,
  'forget-scripts',
];

/** What would take tickets from a majority at once. */
export const singleKinds: readonly FaultKind[] = [
  ...quorumKinds,
  'flush-data',
  'delete-key',
  'step-clock',
];

interface Node {
  readonly server: TestServer;
  /** One for each worker. */
  readonly proxies: readonly FaultProxy[];
}

async function startNode(fakeClock: boolean): Promise<Node> {
  const server = await startServer({ fakeClock, args: keepingData });
  const starts = Array.from({ length: WORKERS }, () => startProxy(server.port));
  return { server, proxies: await Promise.all(starts) };
}

/**
 * One master, or several that know nothing of each other; a fault strikes one of them at a time, or
 * the way to it.
 */
export async function startIndependent(
  topology: 'single' | 'quorum',
  count: number,
): Promise<Topology> {
  const fakeClock = topology === 'single' && noFakeClock() === undefined;
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode(fakeClock)));
  const ports = nodes.map(({ server }) => server.port);
  return {
    observerAddress: { topology, client: 'redis', ports },
    addressOf: (worker) => ({
      topology,
      client: worker % 2 === 0 ? 'redis' : 'ioredis',
      ports: nodes.map(({ server, proxies }) => proxies[worker]?.port ?? server.port),
    }),
    leftKeys: async (name) => {
      const parts = nodes.map(({ server }) => new StoredSemaphore(server, name).keys());
      return [...new Set((await Promise.all(parts)).flat())];
    },
    inject: (fault, name) => {
      const node = nodes[fault.node ?? 0];
      if (node === undefined) throw new Error(`there is no node ${fault.node}`);
      const injectHere = serverFaults[fault.kind];
      if (injectHere !== undefined) return injectHere(node.server, fault, name);
      return injectProxyFault(node.proxies, fault);
    },
    stop: async () => {
      for (const { server, proxies } of nodes) {
        await Promise.all(proxies.map((proxy) => proxy.stop()));
        await server.stop();
      }
    },
  };
}
